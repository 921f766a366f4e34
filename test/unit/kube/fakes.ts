/** Small objects and stand-ins for tests of the Kubernetes runtime. */
import type { Kind, KubeObject } from '#api/objects';
import { type LogFields, type Logger, silent } from '#observe/logger';
import type { Informers, Store } from '../../../src/kube/client.ts';
import { ObjectStore } from '../../../src/kube/store.ts';

export interface Widget extends KubeObject {
  readonly spec?: { readonly color?: string };
}

export const WIDGET: Kind<Widget> = {
  group: 'example.com',
  version: 'v1',
  kind: 'Widget',
  plural: 'widgets',
  namespaced: false,
};

export const widget = (name: string, version: number, color?: string, uid = `uid-${name}`): Widget => ({
  apiVersion: 'example.com/v1',
  kind: 'Widget',
  metadata: { name, uid, resourceVersion: String(version) },
  ...(color !== undefined && { spec: { color } }),
});

export interface Line {
  readonly level: 'debug' | 'info' | 'warn' | 'error';
  readonly message: string;
  readonly fields: LogFields;
}

export function recordingLog(): { readonly log: Logger; readonly lines: Line[] } {
  const lines: Line[] = [];
  const withFields = (bound: LogFields): Logger => ({
    debug: (message, fields) => lines.push({ level: 'debug', message, fields: { ...bound, ...fields } }),
    info: (message, fields) => lines.push({ level: 'info', message, fields: { ...bound, ...fields } }),
    warn: (message, fields) => lines.push({ level: 'warn', message, fields: { ...bound, ...fields } }),
    error: (message, fields) => lines.push({ level: 'error', message, fields: { ...bound, ...fields } }),
    with: (fields) => withFields({ ...bound, ...fields }),
  });
  return { log: withFields({}), lines };
}

/** Informers over stores that the test fills. */
export function handFed(): {
  readonly informers: Informers;
  store<T extends KubeObject>(kind: Kind<T>): ObjectStore<T>;
} {
  const stores = new Map<string, ObjectStore<KubeObject>>();
  const store = <T extends KubeObject>(kind: Kind<T>): ObjectStore<T> => {
    const found = stores.get(kind.plural) ?? new ObjectStore<KubeObject>(kind, silent);
    stores.set(kind.plural, found);
    return found as unknown as ObjectStore<T>;
  };
  return {
    store,
    informers: {
      store: (kind, indexes = {}): Store<never> => {
        const found = store(kind);
        found.addIndexes(indexes);
        return found as unknown as Store<never>;
      },
      synced: async () => {},
      watches: () => [],
      distrust: () => undefined,
    } as Informers,
  };
}
