/** Metadata of converted objects: names stay, what an API server or a controller wrote goes. */

import type { ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';
import { ANNOTATIONS, COMPATIBILITY, GONE_LABELS, LABELS } from './renames.ts';

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

/** Annotations that tools and controllers write; hashes are of the old object. */
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

/** @param keepHashes whether hashes stay, as they do on NodeClaims, which drift by them */
export function cleanMetadata(edit: ObjectEdit, { keepHashes = false } = {}): void {
  edit.remove(['status']);
  for (const field of OF_SERVER) edit.remove(['metadata', field]);
  for (const annotation of OF_CONTROLLERS)
    if (!keepHashes || !annotation.includes('-hash')) edit.remove(['metadata', 'annotations', annotation]);
  renameAnnotations(edit, ['metadata', 'annotations']);
  for (const field of ['annotations', 'labels']) edit.removeEmpty(['metadata', field]);
}

/** Renames keys of annotations; the new key wins where both are there. */
export const renameAnnotations = (edit: ObjectEdit, path: Path): void => renameKeys(edit, path, ANNOTATIONS);

/** Renames keys of labels, and takes those away that no node has any longer. */
export function renameLabels(edit: ObjectEdit, path: Path, at: Path = path): void {
  for (const key of edit.keys(path)) {
    const reason = GONE_LABELS.get(key);
    if (reason === undefined) continue;
    edit.remove([...path, key]);
    edit.note('lost', [...path, key], reason, at);
  }
  renameKeys(edit, path, LABELS);
}

function renameKeys(edit: ObjectEdit, path: Path, names: ReadonlyMap<string, string>): void {
  for (const key of edit.keys(path)) {
    const name = names.get(key);
    if (name === undefined) continue;
    if (edit.keys(path).includes(name)) edit.remove([...path, key]);
    else edit.rename([...path, key], name);
    edit.note('changed', [...path, key], `is called ${name} now`, [...path, name]);
  }
}
