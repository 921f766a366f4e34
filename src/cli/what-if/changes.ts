/** Parses the values of `--what-if`: files with manifests, and changes in words. */
import { existsSync } from 'node:fs';
import type { KubeObject, Node } from '../../api/kubernetes.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { CHANGE_FORMS, CHANGE_VERBS, type NodePoolChange, parseChange } from '../../engine/what-if/change.ts';
import { changedNodePool } from '../../engine/what-if/node-pool-change.ts';
import { timestamp } from '../../lib/times.ts';
import { InputError } from '../objects/errors.ts';
import { applyManifests, type Manifest, readManifests } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';
import { priceChangeOf } from './prices.ts';
import { scaleWorkload } from './scale.ts';

interface Drain {
  /** Name of the Node or its NodeClaim, or the part of the Node's name before the first dot. */
  readonly node: string;
  readonly nowMs: number;
  readonly where: string;
}

/**
 * Marks a node as being deleted, so that its pods must be rescheduled.
 *
 * @throws InputError if the node does not exist
 */
function drainNode(manifests: readonly Manifest[], { node: name, nowMs, where }: Drain): readonly Manifest[] {
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

/**
 * Changes a limit or a requirement of a NodePool.
 *
 * @throws InputError if the NodePool does not exist, or the change is not valid
 */
function changeNodePool(
  manifests: readonly Manifest[],
  { where, ...change }: NodePoolChange & { readonly where: string },
): readonly Manifest[] {
  const pools = manifests.filter(({ object }) => object.kind === 'NodePool');
  const named = pools.find(({ object }) => object.metadata.name === change.nodePool);
  if (named === undefined) {
    const known = pools.map(({ object }) => object.metadata.name);
    throw new InputError(where, notAmong('NodePool', change.nodePool, { known, where: 'in the manifests' }));
  }
  const object = changedNodePool(named.object as NodePool, change);
  if (typeof object === 'string') throw new InputError(where, object);
  return manifests.map((manifest) => (manifest === named ? { ...manifest, object } : manifest));
}

/** Changes as shown in the help. */
export const CHANGES =
  '"scale deploy/web=50", "drain NODE", "limit NODEPOOL cpu=100", "require NODEPOOL KEY=VALUES" or "spot+30%"';

/** @throws InputError if a change cannot be made */
type Change = (manifests: readonly Manifest[], nowMs: number) => readonly Manifest[];

/**
 * Returns undefined for a file or a change of prices, which do not change objects.
 *
 * @throws InputError if a change is incomplete
 */
function changeOf(text: string): Change | undefined {
  const where = `--what-if "${text}"`;
  const change = parseChange(text);
  if (change?.verb === 'drain') return (manifests, nowMs) => drainNode(manifests, { node: change.node, nowMs, where });
  if (change?.verb === 'scale') return (manifests) => scaleWorkload(manifests, { ...change, where });
  if (change !== undefined) return (manifests) => changeNodePool(manifests, { ...change, where });
  if (CHANGE_VERBS.some((verb) => text === verb || text.startsWith(`${verb} `)))
    throw new InputError(where, `expected ${CHANGE_FORMS}`);
  return undefined;
}

/**
 * Returns the objects of a cluster after the changes, which are applied in order.
 *
 * @throws InputError with the change, or with the document and the field
 */
export function applyChanges(
  manifests: readonly Manifest[],
  whatIf: readonly string[],
  nowMs: number,
): { readonly manifests: readonly Manifest[]; readonly added: readonly Manifest[] } {
  // files are applied first, because all files are one set of manifests, as with -f
  const files = whatIf.filter((text) => changeOf(text) === undefined && priceChangeOf(text) === undefined);
  for (const file of files)
    if (file !== '-' && !existsSync(file))
      throw new InputError(file, `not a file, a folder or a change; changes are, for example, ${CHANGES}`);
  const added = readManifests(files);
  const changes = whatIf.flatMap((text) => changeOf(text) ?? []);
  return {
    added,
    manifests: changes.reduce((before, change) => change(before, nowMs), applyManifests(manifests, added)),
  };
}
