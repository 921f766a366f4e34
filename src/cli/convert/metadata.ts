/** Cleans metadata of converted objects. Keeps names and removes fields that an API server or a controller wrote. */

import type { ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';
import { ANNOTATIONS, COMPATIBILITY, GONE_LABELS, RENAMED_LABELS } from './renames.ts';

const OF_SERVER = [
  'creationTimestamp',
  'generation',
  'managedFields',
  'ownerReferences',
  'resourceVersion',
  'selfLink',
  'uid',
  'finalizers',
] as const;

/** Annotations that tools and controllers write. Hashes belong to the old object. */
const OF_CONTROLLERS = [
  'kubectl.kubernetes.io/last-applied-configuration',
  'karpenter.sh/provisioner-hash',
  'karpenter.sh/nodepool-hash',
  'karpenter.sh/nodepool-hash-version',
  'karpenter.k8s.aws/nodetemplate-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash',
  'karpenter.k8s.aws/ec2nodeclass-hash-version',
  COMPATIBILITY.nodeClass,
  COMPATIBILITY.ubuntu,
] as const;

/** @param keepHashes whether to keep hashes, which NodeClaims need for drift detection */
export function cleanMetadata(edit: ObjectEdit, { keepHashes = false } = {}): void {
  edit.remove(['status']);
  for (const field of OF_SERVER) edit.remove(['metadata', field]);
  for (const annotation of OF_CONTROLLERS)
    if (!keepHashes || !annotation.includes('-hash')) edit.remove(['metadata', 'annotations', annotation]);
  renameAnnotations(edit, ['metadata', 'annotations']);
  for (const field of ['annotations', 'labels']) edit.removeEmpty(['metadata', field]);
}

/** Renames keys of annotations. If both keys exist, the new key wins. */
export const renameAnnotations = (edit: ObjectEdit, path: Path): void => renameKeys(edit, path, ANNOTATIONS);

/** Renames keys of labels, and removes labels that nodes no longer have. */
export function renameLabels(edit: ObjectEdit, path: Path, at: Path = path): void {
  for (const key of edit.keys(path)) {
    const reason = GONE_LABELS.get(key);
    if (reason === undefined) continue;
    edit.remove([...path, key]);
    edit.note('lost', [...path, key], reason, at);
  }
  renameKeys(edit, path, RENAMED_LABELS);
}

function renameKeys(edit: ObjectEdit, path: Path, names: ReadonlyMap<string, string>): void {
  for (const key of edit.keys(path)) {
    const name = names.get(key);
    if (name === undefined) continue;
    if (edit.keys(path).includes(name)) edit.remove([...path, key]);
    else edit.rename([...path, key], name);
    edit.note('changed', [...path, key], `is now called ${name}`, [...path, name]);
  }
}
