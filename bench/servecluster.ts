/**
 * A process that serves a large cluster over HTTP like an API server: pages of lists, and watches with only the changes
 * that its parent requests. It generates objects on demand, and its arguments contain the size.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import { claimAt, NODE_POOL, nodeAt, pendingPod, podAt } from './largecluster.ts';

/** Request of the parent to create or delete a pod. */
export interface Order {
  readonly type: 'ADDED' | 'DELETED';
  readonly pod: number;
}

/** Report to the parent: the port, or the creation of a NodeClaim. */
export type Report = { readonly port: number } | { readonly createdMs: number };

interface Collection {
  readonly apiVersion: string;
  readonly kind: string;
  readonly size: number;
  readonly at: (index: number) => object;
}

const [nodes = 0, pods = 0] = process.argv.slice(2).map(Number);
const COLLECTIONS: Readonly<Record<string, Collection>> = {
  pods: { apiVersion: 'v1', kind: 'Pod', size: pods, at: (index) => podAt(index, { nodes, pods }) },
  nodes: { apiVersion: 'v1', kind: 'Node', size: nodes, at: nodeAt },
  nodeclaims: { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', size: nodes, at: claimAt },
  nodepools: { apiVersion: 'karpenter.sh/v1', kind: 'NodePool', size: 1, at: () => NODE_POOL },
};
let version = nodes + pods + 1;
/** Events for watches that open later. */
const history: { readonly name: string; readonly version: number; readonly line: string }[] = [];
const watches = new Map<string, Set<ServerResponse>>();

const report = (news: Report): void => void process.send?.(news);

function answer(response: ServerResponse, body: object, status = 200): void {
  response.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body));
}

function list(response: ServerResponse, name: string, query: URLSearchParams): void {
  const { apiVersion = 'v1', kind = 'Object', size = 0, at = () => ({}) } = COLLECTIONS[name] ?? {};
  const from = Number(query.get('continue') ?? 0);
  const to = Math.min(size, from + Number(query.get('limit') ?? size));
  const items = Array.from({ length: to - from }, (_, offset) => at(from + offset));
  const metadata = { resourceVersion: String(version), ...(to < size ? { continue: String(to) } : {}) };
  answer(response, { apiVersion, kind: `${kind}List`, metadata, items });
}

function watch(response: ServerResponse, name: string, since: number): void {
  const open = watches.get(name) ?? new Set();
  watches.set(name, open.add(response));
  response.writeHead(200, { 'content-type': 'application/json' });
  response.flushHeaders();
  for (const event of history) if (event.name === name && event.version > since) response.write(event.line);
  response.on('close', () => open.delete(response));
}

function tell(name: string, type: string, object: { readonly metadata?: unknown }): void {
  version++;
  const metadata = { ...(object.metadata as object), resourceVersion: String(version) };
  const line = `${JSON.stringify({ type, object: { ...object, metadata } })}\n`;
  history.push({ name, version, line });
  for (const response of watches.get(name) ?? []) response.write(line);
}

async function create(request: IncomingMessage, response: ServerResponse, name: string): Promise<void> {
  const createdMs = Date.now();
  let text = '';
  for await (const chunk of request) text += chunk;
  const object = JSON.parse(text) as { metadata: object };
  const created = { ...object, metadata: { ...object.metadata, name: `new-${createdMs}`, uid: `new-${createdMs}` } };
  answer(response, created, 201);
  if (name !== 'nodeclaims') return;
  report({ createdMs });
  // Deleted immediately, so that the next pod finds the same cluster.
  tell(name, 'ADDED', created);
  tell(name, 'DELETED', created);
}

const server = createServer((request, response) => {
  const { pathname, searchParams } = new URL(request.url ?? '/', 'http://localhost');
  const name = Object.keys(COLLECTIONS).find((plural) => pathname.endsWith(`/${plural}`)) ?? '';
  if (request.method === 'POST') void create(request, response, name);
  else if (pathname.endsWith('/nodepools/default')) answer(response, NODE_POOL);
  else if (searchParams.get('watch')) watch(response, name, Number(searchParams.get('resourceVersion')));
  else list(response, name, searchParams);
});

process.on('message', ({ type, pod }: Order) => tell('pods', type, pendingPod(pod)));
process.on('disconnect', () => process.exit());
server.listen(0, '127.0.0.1', () => {
  const address = server.address();
  if (typeof address === 'object' && address !== null) report({ port: address.port });
});
