/** URL paths of the Kubernetes API. */
import type { Kind, KubeObject } from '#api/objects';
import type { Ref } from './client.ts';

export function collectionPath(kind: Kind<KubeObject>, namespace?: string): string {
  const root = kind.group === '' ? `/api/${kind.version}` : `/apis/${kind.group}/${kind.version}`;
  const scope = kind.namespaced && namespace ? `/namespaces/${encodeURIComponent(namespace)}` : '';
  return `${root}${scope}/${kind.plural}`;
}

/** Returns the path of an object. @throws TypeError if the kind is namespaced and the reference has no namespace */
export function objectPath(kind: Kind<KubeObject>, ref: Ref, subresource?: string): string {
  if (ref.name === '') throw new TypeError(`Cannot address a ${kind.kind}: it has no name`);
  if (kind.namespaced && !ref.namespace) {
    throw new TypeError(`Cannot address ${kind.kind} "${ref.name}": it has no namespace`);
  }
  const tail = subresource === undefined ? '' : `/${subresource}`;
  return `${collectionPath(kind, ref.namespace)}/${encodeURIComponent(ref.name)}${tail}`;
}
