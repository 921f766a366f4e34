/** One version of one object. Its JSON is serialized once and shared by every list and watch. */
import type { ApiObject } from '../json.ts';
import type { Resource } from '../resources/registry.ts';

export class StoredEntry {
  readonly key: string;
  readonly object: ApiObject;
  readonly revision: number;
  #json: string | undefined;
  #converted: Map<string, ApiObject> | undefined;

  constructor(key: string, object: ApiObject, revision: number) {
    this.key = key;
    this.object = object;
    this.revision = revision;
  }

  /** Returns this object in a served version. The result is shared and must not be changed. */
  in(resource: Resource): ApiObject {
    if (!resource.fromStorage) return this.object;
    const name = `${resource.group}/${resource.version}`;
    this.#converted ??= new Map();
    let object = this.#converted.get(name);
    if (!object) {
      object = resource.fromStorage(this.object);
      this.#converted.set(name, object);
    }
    return object;
  }

  json(resource: Resource): string {
    if (resource.fromStorage) return serialize(this.in(resource));
    this.#json ??= serialize(this.object);
    return this.#json;
  }

  /** Returns the JSON of a list item. Like a real server, omits apiVersion and kind for built-in kinds. */
  itemJson(resource: Resource): string {
    const json = this.json(resource);
    if (resource.model === undefined) return json;
    const { apiVersion, kind } = this.in(resource);
    return `{${json.slice(header(apiVersion, kind).length)}`;
  }

  /** Returns the same object with another revision, for deletion events. */
  at(revision: number): StoredEntry {
    const metadata = { ...this.object.metadata, resourceVersion: String(revision) };
    return new StoredEntry(this.key, { ...this.object, metadata }, revision);
  }
}

const header = (apiVersion: string, kind: string): string => `{"apiVersion":"${apiVersion}","kind":"${kind}",`;

/** Serializes with apiVersion and kind first, so that both can be cut off. */
function serialize({ apiVersion, kind, ...rest }: ApiObject): string {
  return `${header(apiVersion, kind)}${JSON.stringify(rest).slice(1)}`;
}
