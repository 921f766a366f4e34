/**
 * The log of decisions as sentences. The command line, the live page, `karpenter top` and the webhook show the same lines. The
 * format is public.
 */
import { defined, timeOf } from '#lib';
import type { Bought, Deleted, Disrupted, LoggedDecision } from './decision-log.ts';
import type { FleetSize } from './fleet.ts';

export const LOG_KINDS = [
  'launch',
  'join',
  'move',
  'drift',
  'expiration',
  'repair',
  'interruption',
  'deletion',
  'failure',
  'refusal',
  'hold',
  'emptying',
  'pause',
  'observed',
  'leader',
] as const;
export type LogKind = (typeof LOG_KINDS)[number];

export interface LogLine {
  /** RFC 3339. */
  readonly at: string;
  readonly kind: LogKind;
  /** Reason in snake case or code of the cause, such as `underutilized` or `taint`. */
  readonly cause: string;
  readonly text: string;
  readonly nodePools: readonly string[];
  readonly nodeClaims: readonly string[];
  readonly nodes: readonly string[];
  /** Namespaces of the affected pods. */
  readonly namespaces: readonly string[];
  /** Nodes of all NodePools before and after the decision. Absent if it changes no node, or if the prices are unknown. */
  readonly before?: FleetSize;
  readonly after?: FleetSize;
}

/** Selects lines. A line must have each given name. */
export interface LogFilter {
  readonly sinceMs?: number | undefined;
  readonly nodePool?: string | undefined;
  readonly namespace?: string | undefined;
  /** Name of a Node or NodeClaim. */
  readonly node?: string | undefined;
}

/** Returns the selected lines of a log, oldest first. */
export function logLines(entries: readonly LoggedDecision[], filter: LogFilter = {}): readonly LogLine[] {
  const nodes = nodesByClaim(entries);
  return entries
    .flatMap((entry) => linesOf(entry, nodes))
    .filter((line) => isSelected(line, filter))
    .sort((a, b) => timeOf(a.at) - timeOf(b.at));
}

/** A line can become visible after later lines within this time. */
const OVERLAP_MS = 60_000;
/** Number of times that a launch is read before it is new: until then, the instance type of most launches is known. */
const LAUNCH_READS = 3;

/** Finds the lines that a reader has not taken yet. Does not depend on the clock of the reader. */
export class NewLines {
  /** Number of reads of each line in the overlap, by its key. */
  #reads = new Map<string, number>();
  #sinceMs: number;

  /** @param taken lines that the reader knows */
  constructor(taken: readonly LogLine[], sinceMs: number) {
    this.#sinceMs = sinceMs;
    for (const line of taken) this.#reads.set(keyOf(line), LAUNCH_READS);
    this.#advance(taken);
  }

  /** Start of the lines that {@link take} needs, in milliseconds since the epoch. */
  get sinceMs(): number {
    return this.#sinceMs;
  }

  /** @param lines all lines since `sinceMs`, oldest first */
  take(lines: readonly LogLine[]): readonly LogLine[] {
    const reads = new Map(lines.map((line) => [keyOf(line), (this.#reads.get(keyOf(line)) ?? 0) + 1]));
    this.#reads = reads;
    this.#advance(lines);
    return lines.filter((line) => reads.get(keyOf(line)) === (line.kind === 'launch' ? LAUNCH_READS : 1));
  }

  #advance(lines: readonly LogLine[]): void {
    const last = lines.at(-1);
    if (last === undefined) return;
    const untaken = lines.find((line) => line.kind === 'launch' && (this.#reads.get(keyOf(line)) ?? 0) < LAUNCH_READS);
    const nextMs = Math.min(timeOf(last.at) - OVERLAP_MS, timeOf(untaken?.at ?? last.at));
    this.#sinceMs = Math.max(this.#sinceMs, nextMs);
  }
}

/** Kinds with a changing text: the instance type of a launch and the outcome of a move arrive later. */
const CHANGING: ReadonlySet<LogKind> = new Set(['launch', 'move', 'drift', 'emptying']);

const keyOf = ({ at, kind, cause, nodeClaims, text }: LogLine): string =>
  JSON.stringify([at, kind, cause, nodeClaims, CHANGING.has(kind) ? '' : text]);

function isSelected({ at, ...line }: LogLine, { sinceMs, nodePool, namespace, node }: LogFilter): boolean {
  return (
    (sinceMs === undefined || timeOf(at) >= sinceMs) &&
    (nodePool === undefined || line.nodePools.includes(nodePool)) &&
    (namespace === undefined || line.namespaces.includes(namespace)) &&
    (node === undefined || line.nodes.includes(node) || line.nodeClaims.includes(node))
  );
}

/** Names of nodes by NodeClaim, because entries before the join name only the NodeClaim. */
const nodesByClaim = (entries: readonly LoggedDecision[]): ReadonlyMap<string, string> =>
  new Map(
    entries.flatMap((entry) =>
      entry.kind === 'bought' && entry.node !== undefined ? [[entry.nodeClaim, entry.node] as const] : [],
    ),
  );

type Nodes = ReadonlyMap<string, string>;
const NOTHING = { nodePools: [], nodeClaims: [], nodes: [], namespaces: [] };

function linesOf(entry: LoggedDecision, nodes: Nodes): readonly LogLine[] {
  const { at, before, after } = entry;
  const effect = defined({ before, after });
  switch (entry.kind) {
    case 'bought':
      return launchLines(entry, effect);
    case 'disrupted': {
      const { nodePools, nodeClaims = [], nodeNames = [], namespaces = [], reason } = entry;
      const kind = reason === 'drifted' ? 'drift' : 'move';
      const objects = { nodePools, nodeClaims, nodes: nodeNames, namespaces };
      return [{ at, kind, cause: reason, text: moveText(entry), ...objects, ...effect }];
    }
    case 'deleted':
      return [{ at, cause: entry.reason, ...deletion(entry, nodes), ...objectsOf(entry, nodes), ...effect }];
    case 'interrupted': {
      const { reason, instanceType, zone, capacityType, pods } = entry;
      const what = `AWS interrupts ${nameOf(entry, nodes)} (${instanceType} ${capacityType} ${zone})`;
      const text = `${what}: ${reason.replaceAll('_', ' ')}${movingText(pods)}`;
      return [{ at, kind: 'interruption', cause: reason, text, ...objectsOf(entry, nodes), ...effect }];
    }
    case 'refused': {
      const { code, pods, examples, namespaces, nodePools } = entry;
      const text = `no node for ${podsText(pods, examples)}: ${entry.text}`;
      return [{ ...NOTHING, at, kind: 'refusal', cause: code, text, nodePools, namespaces }];
    }
    case 'held': {
      const { nodePool, reason, until } = entry;
      const text = `launches of NodePool ${nodePool} are held back until ${until}: ${entry.text}`;
      return [{ ...NOTHING, at, kind: 'hold', cause: reason, text, nodePools: [nodePool] }];
    }
    case 'emptying': {
      const { nodePools, nodeNames } = entry;
      const text = `${entry.nodes === 1 ? '1 node is' : `${entry.nodes} nodes are`} emptying, kube-scheduler fills them last`;
      return [{ ...NOTHING, at, kind: 'emptying', cause: 'emptying', text, nodePools, nodes: nodeNames }];
    }
    case 'rebooted': {
      const { node, nodeClaim, nodePool } = entry;
      const objects = { nodes: [node], nodeClaims: [nodeClaim], nodePools: [nodePool] };
      const text = `${node} is unhealthy (${entry.text}) and is rebooted`;
      return [{ ...NOTHING, at, kind: 'repair', cause: 'rebooted', text, ...objects }];
    }
    case 'pause': {
      const ended = `the pause of ${entry.scope === 'all' ? 'launches and disruption' : entry.scope} has ended`;
      return [{ ...NOTHING, at, kind: 'pause', cause: entry.scope, text: entry.text || ended }];
    }
    case 'observed': {
      const { reason, text, nodePools, nodeClaims = [], nodeNames = [], namespaces = [] } = entry;
      return [{ at, kind: 'observed', cause: reason, text, nodePools, nodeClaims, nodes: nodeNames, namespaces }];
    }
    case 'leader': {
      const version = entry.version === '' ? '' : `, version ${entry.version}`;
      const text = `${entry.replica} is the leader${version}`;
      return [{ ...NOTHING, at, kind: 'leader', cause: 'leader', text }];
    }
  }
}

function launchLines(entry: Bought, effect: Pick<LogLine, 'before' | 'after'>): readonly LogLine[] {
  const { at, nodeClaim, nodePool, reason, pods, examples, usdPerHour, node, joinedAt } = entry;
  const objects = {
    nodePools: [nodePool],
    nodeClaims: [nodeClaim],
    nodes: node === undefined ? [] : [node],
    namespaces: entry.namespaces ?? examples.map((pod) => pod.slice(0, pod.indexOf('/'))),
  };
  const { instanceType, capacityType, zone } = entry;
  const offering = instanceType === undefined ? '' : ` ${[instanceType, capacityType, zone].join(' ')}`;
  const purpose =
    reason === 'provisioned'
      ? pods === 0
        ? ''
        : ` for ${podsText(pods, examples)}`
      : `, replaces nodes (${reason.replaceAll('_', ' ')})`;
  const text = `NodePool ${nodePool}:${offering} at ${rate(usdPerHour)}${purpose}, NodeClaim ${nodeClaim}`;
  const launch: LogLine = { at, kind: 'launch', cause: reason, text, ...objects, ...effect };
  if (node === undefined || joinedAt === undefined) return [launch];
  const seconds = Math.round((timeOf(joinedAt) - timeOf(at)) / 1000);
  const joined = `node ${node} can run pods, ${seconds} s after its NodeClaim ${nodeClaim} was created`;
  return [launch, { at: joinedAt, kind: 'join', cause: 'initialized', text: joined, ...objects }];
}

function moveText({ command, reason, pods, predictedUsdPerHour, outcome }: Disrupted): string {
  const saves = predictedUsdPerHour > 0 ? `, saves ${rate(predictedUsdPerHour)}` : '';
  const undone = outcome?.undone === undefined ? '' : `; later undone: ${outcome.undone}`;
  return `${reason.replaceAll('_', ' ')}: ${command}${movingText(pods)}${saves}${undone}`;
}

/** Reasons of NodeClaims that never became a node. */
export const FAILED_LAUNCHES: ReadonlySet<string> = new Set([
  'insufficient_capacity',
  'nodeclass_not_ready',
  'launch_timeout',
  'registration_timeout',
]);

function deletion(entry: Deleted, nodes: Nodes): Pick<LogLine, 'kind' | 'text'> {
  const { reason, pods } = entry;
  const name = nameOf(entry, nodes);
  if (reason === 'expired') return { kind: 'expiration', text: `${name} has expired${movingText(pods)}` };
  if (reason === 'unhealthy')
    return { kind: 'repair', text: `${name} is unhealthy and is replaced${movingText(pods)}` };
  if (reason === 'external')
    return { kind: 'deletion', text: `${name} was deleted by another client${movingText(pods)}` };
  const text = `${name}: ${reason.replaceAll('_', ' ')}`;
  if (FAILED_LAUNCHES.has(reason)) return { kind: 'failure', text };
  return { kind: 'deletion', text: `${text}${movingText(pods)}` };
}

interface Named {
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly node?: string;
  readonly namespaces?: readonly string[];
}

function objectsOf(entry: Named, known: Nodes): Pick<LogLine, 'nodePools' | 'nodeClaims' | 'nodes' | 'namespaces'> {
  const node = entry.node ?? known.get(entry.nodeClaim);
  return {
    nodePools: [entry.nodePool],
    nodeClaims: [entry.nodeClaim],
    nodes: node === undefined ? [] : [node],
    namespaces: entry.namespaces ?? [],
  };
}

function nameOf({ node, nodeClaim }: Named, known: Nodes): string {
  const name = node ?? known.get(nodeClaim);
  return name === undefined ? `NodeClaim ${nodeClaim}` : `node ${name}`;
}

const countedPods = (pods: number): string => (pods === 1 ? '1 pod' : `${pods} pods`);
const movingText = (pods: number): string =>
  pods === 0 ? '' : `, ${countedPods(pods)} ${pods === 1 ? 'moves' : 'move'}`;

function podsText(pods: number, examples: readonly string[]): string {
  const rest = pods - examples.length;
  if (examples.length === 0) return countedPods(pods);
  return `${countedPods(pods)} (${examples.join(', ')}${rest > 0 ? ` and ${rest} more` : ''})`;
}

const rate = (usd: number): string => `$${usd.toFixed(4)}/h`;
