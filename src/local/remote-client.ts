/**
 * Requests of the parts of the world to the API server of a running cluster, through the operator's client. Unlike the
 * operator's requests, they have no rate limit and are not retried after an error response. A deletion returns the
 * remaining object.
 */
import type { Kind, KubeList, KubeObject } from '#api/objects';
import {
  ConnectionError,
  type Exchange,
  type ListOptions,
  objectPath,
  openFence,
  type Ref,
  type WatchEvent,
} from '#kube/client';
import { type ConnectionOptions, connect, type RawRequest } from '#kube/connection';
import { realClock } from '#lib/clock';
import { type DeleteOptions, isGone, type ObjectClient } from './client.ts';

export interface RemoteClient extends ObjectClient {
  readonly url: string;
  /** CA certificates of the API server, PEM in base64. */
  readonly caBundle: string | undefined;
  list<T extends KubeObject>(kind: Kind<T>, options?: ListOptions): Promise<KubeList<T>>;
  update<T extends KubeObject>(kind: Kind<T>, object: T, subresource?: 'status'): Promise<T>;
  /** Yields events until the server ends the watch. @throws ApiError 410 if `resourceVersion` is too old */
  watch<T extends KubeObject>(
    kind: Kind<T>,
    resourceVersion: string,
    signal: AbortSignal,
  ): AsyncIterable<WatchEvent<T>>;
  /** Sends any other request and returns the parsed body. */
  raw(method: Exchange['method'], path: string, body?: unknown, contentType?: string): Promise<unknown>;
  /** Closes the connections. */
  close(): void;
}

/** @throws Error if the configuration cannot be read or has no cluster */
export function connectRemotely(options: ConnectionOptions): RemoteClient {
  const client = connect({
    ...options,
    clock: realClock(),
    fence: openFence(),
    qps: 0,
    mostRetries: 0,
    userAgent: 'karpenter-local',
  });
  const raw = (path: string, request: RawRequest): Promise<unknown> =>
    overLivingConnection(() => client.raw(path, undefined, request));
  return {
    caBundle: client.caBundle,
    url: client.server.href.replace(/\/$/, ''),
    raw: (method, path, body, contentType) => raw(path, { method, body, ...(contentType && { contentType }) }),
    find: <T extends KubeObject>(kind: Kind<T>, ref: Ref) =>
      overLivingConnection(() => client.get(kind, ref)).catch((error: unknown) => {
        if (isGone(error)) return undefined;
        throw error;
      }),
    list: (kind, options) => overLivingConnection(() => client.list(kind, options)),
    create: (kind, object) => overLivingConnection(() => client.create(kind, object)),
    post: (kind, ref, subresource, body) => raw(objectPath(kind, ref, subresource), { method: 'POST', body }),
    update: (kind, object, subresource) =>
      overLivingConnection(() => client.update(kind, object, subresource && { subresource })),
    patch: (kind, ref, patch, options) => overLivingConnection(() => client.patch(kind, ref, patch, options)),
    async delete<T extends KubeObject>(kind: Kind<T>, ref: Ref, { uid, gracePeriodSeconds }: DeleteOptions = {}) {
      const body = {
        apiVersion: 'v1',
        kind: 'DeleteOptions',
        ...(gracePeriodSeconds === undefined ? {} : { gracePeriodSeconds }),
        ...(uid === undefined ? {} : { preconditions: { uid } }),
      };
      const answer = (await raw(objectPath(kind, ref), { method: 'DELETE', body })) as T | undefined;
      return answer?.kind === kind.kind ? answer : undefined;
    },
    watch: (kind, resourceVersion, signal) => client.watch(kind, { resourceVersion, signal }),
    close: () => client.close(),
  };
}

/** Retries a request whose connection the server had just closed because it was idle. */
async function overLivingConnection<T>(send: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await send();
    } catch (error) {
      if (!(error instanceof ConnectionError && error.wasKept)) throw error;
    }
  }
}
