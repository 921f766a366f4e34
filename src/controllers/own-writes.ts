/**
 * Prevents a controller from acting on a version of an object that is older than its own last write. A reconcile with an
 * outdated cache ends without an action, because the event with the newer version triggers the next reconcile.
 */
import type { KubeObject } from '#api/objects';

export class OwnWrites {
  readonly #written = new Map<string, { readonly uid: string | undefined; readonly version: string }>();
  readonly #deleted = new Map<string, string | undefined>();

  /** Records the object that the API server returned for a write. */
  wrote(object: KubeObject | undefined): void {
    const version = object?.metadata.resourceVersion;
    if (object && version !== undefined) this.#written.set(key(object), { uid: object.metadata.uid, version });
  }

  deleted(object: KubeObject): void {
    this.#deleted.set(key(object), object.metadata.uid);
  }

  /** Returns true if the cached object does not show the last write or deletion of this controller yet. */
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

/** Compares resource versions. Kubernetes guarantees that resource versions of one kind are integers in the order of writes. */
const isOlder = (version: string, than: string): boolean =>
  NUMBER.test(version) && NUMBER.test(than) && BigInt(version) < BigInt(than);
