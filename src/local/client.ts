/** A small HTTP client of the Kubernetes API for the world's own parts; it works with any API server. */
import { Agent as HttpAgent, request as httpRequest, type IncomingMessage } from 'node:http';
import { Agent as HttpsAgent, request as httpsRequest } from 'node:https';
import { apiVersionOf, type Kind } from '../api/kinds.ts';
import type { KubeList, KubeObject } from '../api/kubernetes.ts';

export interface Ref {
  readonly name: string;
  readonly namespace?: string | undefined;
}

export interface Credentials {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly certificateAuthority?: string;
}

export type WatchEvent<T extends KubeObject> = {
  readonly type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK';
  readonly object: T;
};

export interface PatchOptions {
  readonly subresource?: string;
  /** Default `merge`. */
  readonly type?: 'merge' | 'strategic' | 'json';
}

export interface DeleteOptions {
  readonly gracePeriodSeconds?: number;
  readonly uid?: string | undefined;
}

/** An answer of the API server that is not a success. */
export class ApiFailure extends Error {
  readonly status: number;
  readonly reason: string;

  constructor(status: number, reason: string, message: string) {
    super(message);
    this.name = 'ApiFailure';
    this.status = status;
    this.reason = reason;
  }
}

export const isGone = (error: unknown): boolean => error instanceof ApiFailure && error.status === 404;
export const isConflict = (error: unknown): boolean => error instanceof ApiFailure && error.status === 409;

export interface KubeApi {
  readonly url: string;
  /** Answers undefined when it does not exist. */
  find<T extends KubeObject>(kind: Kind<T>, ref: Ref): Promise<T | undefined>;
  list<T extends KubeObject>(kind: Kind<T>, query?: Readonly<Record<string, string>>): Promise<KubeList<T>>;
  create<T extends KubeObject>(kind: Kind<T>, object: T): Promise<T>;
  /** Posts `body` to a subresource, as a pod's binding. */
  post(kind: Kind, ref: Ref, subresource: string, body: unknown): Promise<unknown>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, subresource?: string): Promise<T>;
  patch<T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options?: PatchOptions): Promise<T>;
  /** Answers what the server says: the object while it is still terminating, else its last state or a Status. */
  delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options?: DeleteOptions): Promise<T | undefined>;
  /** Yields events until the server ends the watch. @throws ApiFailure 410 when `resourceVersion` is too old */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  /** Any other request; answers the parsed body. */
  raw(method: string, path: string, body?: unknown, contentType?: string): Promise<unknown>;
  /** Drops the connections. */
  close(): void;
}

const PATCH_TYPES = {
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  json: 'application/json-patch+json',
};

/** The path of a kind's collection, in a namespace or across all of them. */
export function collectionPath(kind: Kind, namespace?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  return kind.namespaced && namespace !== undefined
    ? `${root}/namespaces/${namespace}/${kind.plural}`
    : `${root}/${kind.plural}`;
}

const objectPath = (kind: Kind, ref: Ref, subresource?: string): string =>
  `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${subresource ? `/${subresource}` : ''}`;

async function textOf(response: IncomingMessage): Promise<string> {
  response.setEncoding('utf8');
  let text = '';
  for await (const chunk of response) text += chunk;
  return text;
}

function failureOf(status: number, text: string): ApiFailure {
  try {
    const body = JSON.parse(text) as { reason?: string; message?: string };
    return new ApiFailure(status, body.reason ?? 'Unknown', body.message ?? text);
  } catch {
    return new ApiFailure(status, 'Unknown', text || `the server answered ${status}`);
  }
}

export function connect(url: string, credentials: Credentials = {}): KubeApi {
  const base = new URL(url);
  const secure = base.protocol === 'https:';
  const agent = secure
    ? new HttpsAgent({
        keepAlive: true,
        ca: credentials.certificateAuthority,
        cert: credentials.clientCertificate,
        key: credentials.clientKey,
      })
    : new HttpAgent({ keepAlive: true });
  const headers = {
    accept: 'application/json',
    'user-agent': 'karpenter-local',
    ...(credentials.token ? { authorization: `Bearer ${credentials.token}` } : {}),
  };

  const open = (
    method: string,
    path: string,
    body?: string,
    contentType?: string,
    signal?: AbortSignal,
  ): Promise<IncomingMessage> =>
    new Promise((resolve, reject) => {
      const send = secure ? httpsRequest : httpRequest;
      const request = send(new URL(base.pathname.replace(/\/$/, '') + path, base), {
        method,
        agent,
        ...(signal ? { signal } : {}),
        headers:
          body === undefined
            ? headers
            : {
                ...headers,
                'content-type': contentType ?? 'application/json',
                'content-length': Buffer.byteLength(body),
              },
      });
      request.on('error', (error: NodeJS.ErrnoException) => {
        // A server closes connections that were idle for long, maybe just when one is used again.
        const wasIdle = request.reusedSocket && error.code === 'ECONNRESET';
        if (wasIdle) open(method, path, body, contentType, signal).then(resolve, reject);
        else reject(error);
      });
      request.on('response', resolve).end(body);
    });

  const raw = async (method: string, path: string, body?: unknown, contentType?: string): Promise<unknown> => {
    const response = await open(method, path, body === undefined ? undefined : JSON.stringify(body), contentType);
    const text = await textOf(response);
    const status = response.statusCode ?? 0;
    if (status < 200 || status > 299) throw failureOf(status, text);
    return text === '' ? undefined : JSON.parse(text);
  };

  return {
    url,
    raw,
    async find<T extends KubeObject>(kind: Kind<T>, ref: Ref) {
      try {
        return (await raw('GET', objectPath(kind, ref))) as T;
      } catch (error) {
        if (isGone(error)) return undefined;
        throw error;
      }
    },
    async list<T extends KubeObject>(kind: Kind<T>, query: Readonly<Record<string, string>> = {}) {
      const list = (await raw('GET', `${collectionPath(kind)}?${new URLSearchParams(query)}`)) as KubeList<T>;
      // Items of a list come without their kind.
      const items = list.items.map((item) => ({ ...item, apiVersion: apiVersionOf(kind), kind: kind.kind }));
      return { ...list, items };
    },
    create: async <T extends KubeObject>(kind: Kind<T>, object: T) =>
      (await raw('POST', collectionPath(kind, object.metadata.namespace), object)) as T,
    post: (kind, ref, subresource, body) => raw('POST', objectPath(kind, ref, subresource), body),
    update: async <T extends KubeObject>(kind: Kind<T>, object: T, subresource?: string) =>
      (await raw('PUT', objectPath(kind, object.metadata, subresource), object)) as T,
    patch: async <T extends KubeObject>(kind: Kind<T>, ref: Ref, patch: unknown, options: PatchOptions = {}) =>
      (await raw(
        'PATCH',
        objectPath(kind, ref, options.subresource),
        patch,
        PATCH_TYPES[options.type ?? 'merge'],
      )) as T,
    async delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, options: DeleteOptions = {}) {
      const { uid, gracePeriodSeconds } = options;
      const answer = (await raw('DELETE', objectPath(kind, ref), {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      })) as T | undefined;
      return answer?.kind === kind.kind ? answer : undefined;
    },
    async *watch<T extends KubeObject>(kind: Kind<T>, resourceVersion: string, signal: AbortSignal) {
      const query = new URLSearchParams({ watch: 'true', allowWatchBookmarks: 'true', resourceVersion });
      const response = await open('GET', `${collectionPath(kind)}?${query}`, undefined, undefined, signal);
      if (response.statusCode !== 200) throw failureOf(response.statusCode ?? 0, await textOf(response));
      response.setEncoding('utf8');
      let rest = '';
      for await (const chunk of response) {
        const lines = (rest + chunk).split('\n');
        rest = lines.pop() ?? '';
        for (const line of lines) if (line !== '') yield watchEvent<T>(line);
      }
    },
    close: () => agent.destroy(),
  };
}

function watchEvent<T extends KubeObject>(line: string): WatchEvent<T> {
  const event = JSON.parse(line) as { type: string; object: unknown };
  if (event.type === 'ERROR') {
    const status = event.object as { code?: number; reason?: string; message?: string };
    throw new ApiFailure(status.code ?? 500, status.reason ?? 'Unknown', status.message ?? 'the watch failed');
  }
  return event as WatchEvent<T>;
}
