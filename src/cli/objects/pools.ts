/** Reads NodePools from manifests and adds the hashes and conditions that the operator would set. */
import { EC2_NODE_CLASS, type NodePool } from '#api/objects';
import { withValidation } from '#api/validation';
import { type IdlePool, withHash } from '#engine/model';
import { checkQuantities, fieldIn } from './check.ts';
import { InputError, messageOf } from './errors.ts';
import type { NodeClasses } from './node-classes.ts';
import { isFromCluster, type Manifest } from './read.ts';
import { validateStored } from './stored.ts';

/** NodePool that the operator manages. */
export interface ReadPool {
  readonly nodePool: NodePool;
  /** NodePool in its input form. It has no hash of this version if the operator has not set one. */
  readonly given: NodePool;
  /** True if a file of `--what-if` replaces the cluster's NodePool. */
  readonly isChanged: boolean;
  /** True if the NodePool was read from a cluster and is not changed. */
  readonly isFromCluster: boolean;
}

export interface ReadPools {
  readonly pools: readonly ReadPool[];
  /** NodePools of a cluster that cannot be read. */
  readonly unreadable: readonly IdlePool[];
  readonly notes: readonly string[];
}

/**
 * @throws InputError if the API server would reject a manifest that is not from a cluster, or if its limits cannot be
 * parsed. The API server does not validate limits.
 */
export function readPools(manifests: readonly Manifest[], nodeClasses: NodeClasses, nowMs: number): ReadPools {
  const pools: ReadPool[] = [];
  const unreadable: IdlePool[] = [];
  const notes: string[] = [];
  for (const manifest of manifests.filter(({ object }) => object.kind === 'NodePool')) {
    const { name } = manifest.object.metadata;
    try {
      const given = validateStored<NodePool>(manifest);
      const foreign = foreignTo(given);
      if (foreign === undefined) {
        notes.push(...limitNotes(manifest));
        pools.push({
          given,
          nodePool: judgePool(given, nodeClasses, nowMs),
          isChanged: manifest.replaced !== undefined,
          isFromCluster: isFromCluster(manifest),
        });
      } else notes.push(`${manifest.where}: ${foreign}; it is skipped, as the operator also ignores it`);
    } catch (error) {
      if (!(error instanceof InputError && isFromCluster(manifest))) throw error;
      notes.push(`${messageOf(error)}; it is skipped`);
      unreadable.push({ nodePool: name, misfit: { code: 'unreadable', text: messageOf(error) } });
    }
  }
  return { pools, unreadable, notes };
}

/**
 * Returns a note if the limits of a NodePool of a cluster cannot be read.
 *
 * @throws InputError if the NodePool is not from a cluster
 */
function limitNotes(manifest: Manifest): readonly string[] {
  try {
    checkQuantities(fieldIn(manifest.where, manifest.object).at('spec').at('limits'));
    return [];
  } catch (error) {
    if (!isFromCluster(manifest)) throw error;
    return [`${messageOf(error)}; the NodePool launches no nodes until the limit is corrected`];
  }
}

function foreignTo({ spec }: NodePool): string | undefined {
  const { group, kind } = spec.template.spec.nodeClassRef;
  if (group === EC2_NODE_CLASS.group && kind === EC2_NODE_CLASS.kind) return undefined;
  return `spec.template.spec.nodeClassRef refers to ${kind} of ${group}, not to EC2NodeClass of ${EC2_NODE_CLASS.group}`;
}

const judgePool = (given: NodePool, nodeClasses: NodeClasses, nowMs: number): NodePool =>
  withValidation(nodeClasses.withReadiness(withHash(given) ?? given, nowMs), nowMs);
