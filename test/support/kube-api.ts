/**
 * Requests of tests to an API server, through the operator's client. Unlike the operator's requests, they have no rate
 * limit and are not retried after an error response. A deletion returns the remaining object.
 */
import type { Kind } from '../../src/api/kinds.ts';
import type { KubeList, KubeObject } from '../../src/api/kubernetes.ts';
import type { ListOptions, Ref, WatchEvent } from '../../src/kube/client.ts';
import { openFence } from '../../src/kube/fence.ts';
import { connect as openClient, type RawRequest } from '../../src/kube/http.ts';
import { objectPath } from '../../src/kube/paths.ts';
import { ConnectionError, type Exchange } from '../../src/kube/transport.ts';
import { realClock } from '../../src/lib/clock.ts';
import { type DeleteOptions, isGone, type ObjectClient } from '../../src/local/client.ts';

export { ApiError } from '../../src/kube/client.ts';
export { collectionPath } from '../../src/kube/paths.ts';
export { isConflict, isGone } from '../../src/local/client.ts';

export interface Credentials {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly certificateAuthority?: string;
}

export interface KubeApi extends ObjectClient {
  readonly url: string;
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

export function connect(url: string, credentials: Credentials = {}): KubeApi {
  const client = openClient({
    ...(Object.keys(credentials).length === 0 ? { url } : { kubeconfig: kubeconfigOf(url, credentials) }),
    clock: realClock(),
    fence: openFence(),
    qps: 0,
    mostRetries: 0,
    userAgent: 'karpenter-local',
  });
  const raw = (path: string, request: RawRequest): Promise<unknown> =>
    overLivingConnection(() => client.raw(path, undefined, request));
  return {
    url,
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

/** JSON is valid YAML, and several lines distinguish it from a path. */
function kubeconfigOf(server: string, credentials: Credentials): string {
  const { token, clientCertificate, clientKey, certificateAuthority } = credentials;
  const base64 = (pem: string | undefined): string | undefined => pem && Buffer.from(pem).toString('base64');
  const config = {
    clusters: [{ name: 'given', cluster: { server, 'certificate-authority-data': base64(certificateAuthority) } }],
    users: [
      {
        name: 'given',
        user: { token, 'client-certificate-data': base64(clientCertificate), 'client-key-data': base64(clientKey) },
      },
    ],
    contexts: [{ name: 'given', context: { cluster: 'given', user: 'given' } }],
    'current-context': 'given',
  };
  return JSON.stringify(config, undefined, 2);
}
