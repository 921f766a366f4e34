/**
 * Keeps a controller from acting on a version of an object that is older than its own last write. The reconcile that
 * finds the cache behind simply ends: the event that brings the newer version starts the next one.
 */
import type { KubeObject } from '../api/kubernetes.ts';

export class OwnWrites {
  readonly #written = new Map<string, { readonly uid: string | undefined; readonly version: string }>();
  readonly #deleted = new Map<string, string | undefined>();

  /** Takes the object as the API server answered the write. */
  wrote(object: KubeObject | undefined): void {
    const version = object?.metadata.resourceVersion;
    if (object && version !== undefined) this.#written.set(key(object), { uid: object.metadata.uid, version });
  }

  deleted(object: KubeObject): void {
    this.#deleted.set(key(object), object.metadata.uid);
  }

  /** Whether the cached object does not yet show this controller's last write or deletion. */
  isBehind(object: KubeObject): boolean {
    const { uid, resourceVersion = '', deletionTimestamp } = object.metadata;
    if (this.#deleted.has(key(object)) && this.#deleted.get(key(object)) === uid && !deletionTimestamp) return true;
    const last = this.#written.get(key(object));
    return last !== undefined && last.uid === uid && isOlder(resourceVersion, last.version);
  }

  forget(name: string, namespace?: string): void {
    const gone = `${namespace ?? ''}/${name}`;
    this.#written.delete(gone);
    this.#deleted.delete(gone);
  }
}

const key = (object: KubeObject): string => `${object.metadata.namespace ?? ''}/${object.metadata.name}`;

const NUMBER = /^\d+$/;

/** Kubernetes promises that resource versions of one kind are whole numbers in the order of writes. */
const isOlder = (version: string, than: string): boolean =>
  NUMBER.test(version) && NUMBER.test(than) && BigInt(version) < BigInt(than);
