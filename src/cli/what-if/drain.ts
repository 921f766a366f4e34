/** Applies `--what-if "drain NODE"`: marks a node as being deleted, so that its pods must be rescheduled. */
import type { KubeObject, Node } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { timestamp } from '../../lib/times.ts';
import { InputError } from '../objects/errors.ts';
import type { Manifest } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';

interface Drain {
  /** Name of the Node or its NodeClaim, or the part of the Node's name before the first dot. */
  readonly node: string;
  readonly nowMs: number;
  readonly where: string;
}

/** @throws InputError if the node does not exist */
export function drainNode(manifests: readonly Manifest[], { node: name, nowMs, where }: Drain): readonly Manifest[] {
  const named = manifests.find(({ object }) => isNamed(object, name));
  if (named === undefined) {
    const known = manifests.flatMap(({ object }) => (object.kind === 'Node' ? [object.metadata.name] : []));
    throw new InputError(where, notAmong('node', name, { known, where: 'in the manifests' }));
  }
  const providerId = providerIdOf(named.object);
  const deletionTimestamp = timestamp(nowMs);
  return manifests.map((manifest) => {
    const { object } = manifest;
    const isHalf = object === named.object || (providerId !== undefined && providerIdOf(object) === providerId);
    if (!isHalf || object.metadata.deletionTimestamp !== undefined) return manifest;
    return { ...manifest, object: { ...object, metadata: { ...object.metadata, deletionTimestamp } } };
  });
}

function isNamed({ kind, metadata }: KubeObject, name: string): boolean {
  if (kind === 'NodeClaim') return metadata.name === name;
  return kind === 'Node' && (metadata.name === name || metadata.name.startsWith(`${name}.`));
}

function providerIdOf(object: KubeObject): string | undefined {
  if (object.kind === 'Node') return (object as Node).spec?.providerID;
  return object.kind === 'NodeClaim' ? (object as NodeClaim).status?.providerID : undefined;
}
