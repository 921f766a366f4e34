/** Requests of tests to an API server. */
import type { Kind, KubeList, KubeObject } from '#api/objects';
import type { ListOptions, Ref } from '#kube/client';
import { nameOf, objectRefOf } from '#local/api-server';
import type { LocalApiServer, RemoteClient } from '#local/testing';
import { connectRemotely } from '#local/world';

export { ApiError } from '#kube/client';
export { collectionPath } from '#kube/testing';
export { isAnyConflict, isGone } from '#local/api-server';

export type KubeApi = RemoteClient;

export interface Credentials {
  readonly token?: string;
  /** PEM. */
  readonly clientCertificate?: string;
  readonly clientKey?: string;
  readonly certificateAuthority?: string;
}

export const connect = (url: string, credentials: Credentials = {}): KubeApi =>
  connectRemotely(Object.keys(credentials).length === 0 ? { url } : { kubeconfig: kubeconfigOf(url, credentials) });

/**
 * Returns a client of a local server that reads without HTTP. Polls over HTTP would use a quarter of the CPU time of
 * hostile tests.
 */
export function connectForPolls({ url, objects }: LocalApiServer): KubeApi {
  const overHttp = connect(url);
  return {
    ...overHttp,
    find: async <T extends KubeObject>(kind: Kind<T>, ref: Ref) =>
      objects.find(objectRefOf(kind, ref)) as T | undefined,
    list: async <T extends KubeObject>(kind: Kind<T>, options?: ListOptions) =>
      options === undefined
        ? ({ ...nameOf(kind), metadata: {}, items: objects.list(nameOf(kind)) } as unknown as KubeList<T>)
        : overHttp.list(kind, options),
  };
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
