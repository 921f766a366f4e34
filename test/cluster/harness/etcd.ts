/** Requests to the etcd of a control plane, which accepts any client. */
import type { KubeObject } from '#api/objects';
import type { ControlPlane } from './controlplane.ts';

/** etcd accepts 128 operations in a transaction. */
const PUTS_AT_ONCE = 100;

export interface EtcdAnswer {
  readonly header: { readonly revision: string };
}

/** @throws Error with the response if etcd rejects the request */
export async function askEtcd({ etcdUrl }: ControlPlane, path: string, body: object): Promise<EtcdAnswer> {
  const answer = await fetch(`${etcdUrl}${path}`, { method: 'POST', body: JSON.stringify(body) });
  if (!answer.ok) throw new Error(`${path}: ${await answer.text()}`);
  return (await answer.json()) as EtcdAnswer;
}

export const base64 = (text: string): string => Buffer.from(text).toString('base64');

/**
 * Stores objects of a namespace without the API server, which needs five milliseconds of CPU time to create one. The API
 * server reads JSON and sets defaults, so `objects` need a UID and a creation time only.
 */
export async function storeInEtcd(
  plane: ControlPlane,
  resource: string,
  objects: readonly KubeObject[],
): Promise<void> {
  for (let from = 0; from < objects.length; from += PUTS_AT_ONCE) {
    const success = objects.slice(from, from + PUTS_AT_ONCE).map((object) => ({
      requestPut: {
        key: base64(`/registry/${resource}/${object.metadata.namespace}/${object.metadata.name}`),
        value: base64(JSON.stringify(object)),
      },
    }));
    await askEtcd(plane, '/v3/kv/txn', { success });
  }
}
