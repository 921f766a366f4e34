/** Parses the values of `--what-if`: files with manifests, and changes in words. */
import { existsSync } from 'node:fs';
import type {
  KubeObject,
  Node,
  NodeClaim,
  NodePool,
  PersistentVolumeClaim,
  Pod,
  PodDisruptionBudget,
  Workload,
} from '#api/objects';
import {
  applyChange,
  CHANGE_FORMS,
  CHANGE_VERBS,
  type Change,
  ChangeError,
  type ClusterObjects,
  type ObjectChanges,
  parseChange,
} from '#engine/what-if';
import { InputError } from '../objects/errors.ts';
import { applyManifests, type Manifest, readManifests } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';
import { priceChangeOf } from './prices.ts';

/** Changes as shown in the help. */
export const CHANGES =
  '"scale deploy/web=50", "drain NODE", "limit NODEPOOL cpu=100", "require NODEPOOL KEY=VALUES" or "spot+30%"';

/** Objects of a cluster after changes. */
export interface ChangedManifests {
  readonly manifests: readonly Manifest[];
  /** Manifests of files, which replace or add objects. */
  readonly added: readonly Manifest[];
  /** Provider ids of the nodes that the changes drain. */
  readonly drained: ReadonlySet<string>;
}

/**
 * Applies changes in order.
 *
 * @throws InputError with the change, or with the document and the field
 */
export function applyChanges(
  manifests: readonly Manifest[],
  whatIf: readonly string[],
  nowMs: number,
): ChangedManifests {
  // files are applied first, because all files are one set of manifests, as with -f
  const files = whatIf.filter((text) => changeOf(text) === undefined && priceChangeOf(text) === undefined);
  for (const file of files)
    if (file !== '-' && !existsSync(file))
      throw new InputError(file, `not a file, a folder or a change; changes are, for example, ${CHANGES}`);
  const added = readManifests(files);
  const drained = new Set<string>();
  let after = applyManifests(manifests, added);
  for (const text of whatIf) {
    const change = changeOf(text);
    if (change === undefined) continue;
    const changed = applyToManifests(after, { change, nowMs, where: `--what-if "${text}"` });
    after = changed.manifests;
    for (const providerId of changed.drained) drained.add(providerId);
  }
  return { added, manifests: after, drained };
}

/** @throws InputError with the place of the change */
export function applyToManifests(
  manifests: readonly Manifest[],
  located: LocatedChange,
): Pick<ChangedManifests, 'manifests' | 'drained'> {
  const { drained, ...changes } = changesIn(manifests, located);
  return {
    manifests: replaceManifests(manifests, changes, located.where),
    drained: new Set(drained === undefined ? [] : [drained]),
  };
}

/**
 * Returns undefined for a file or a change of prices, which do not change objects.
 *
 * @throws InputError if a change is incomplete
 */
function changeOf(text: string): Change | undefined {
  const change = parseChange(text);
  if (change === undefined && CHANGE_VERBS.some((verb) => text === verb || text.startsWith(`${verb} `)))
    throw new InputError(`--what-if "${text}"`, `expected ${CHANGE_FORMS}`);
  return change;
}

interface LocatedChange {
  readonly change: Change;
  readonly nowMs: number;
  /** Place in messages. */
  readonly where: string;
}

function changesIn(manifests: readonly Manifest[], { change, nowMs, where }: LocatedChange): ObjectChanges {
  try {
    return applyChange(objectsIn(manifests), change, { nowMs });
  } catch (error) {
    if (!(error instanceof ChangeError)) throw error;
    const { missing, message } = error;
    if (missing === undefined) throw new InputError(where, message);
    const { kind, name, known } = missing;
    throw new InputError(where, notAmong(kind === 'Node' ? 'node' : kind, name, { known, where: 'in the manifests' }));
  }
}

function objectsIn(manifests: readonly Manifest[]): ClusterObjects {
  const byKind = Map.groupBy(
    manifests.map(({ object }) => object),
    ({ kind }) => kind ?? '',
  );
  const ofKinds = <T extends KubeObject>(...kinds: readonly string[]): readonly T[] =>
    kinds.flatMap((kind) => byKind.get(kind) ?? []) as unknown as readonly T[];
  return {
    nodes: ofKinds<Node>('Node'),
    nodeClaims: ofKinds<NodeClaim>('NodeClaim'),
    nodePools: ofKinds<NodePool>('NodePool'),
    pods: ofKinds<Pod>('Pod'),
    workloads: ofKinds<Workload>('Deployment', 'ReplicaSet', 'StatefulSet'),
    persistentVolumeClaims: ofKinds<PersistentVolumeClaim>('PersistentVolumeClaim'),
    podDisruptionBudgets: ofKinds<PodDisruptionBudget>('PodDisruptionBudget'),
  };
}

const replaceManifests = (
  manifests: readonly Manifest[],
  { replaced, removed, added }: Pick<ObjectChanges, 'replaced' | 'removed' | 'added'>,
  where: string,
): readonly Manifest[] => [
  ...manifests
    .filter(({ object }) => !removed.has(object))
    .map((manifest) => {
      const object = replaced.get(manifest.object);
      return object === undefined ? manifest : { ...manifest, object };
    }),
  ...added.map((object) => ({ object, where: `${where}, ${object.kind} ${object.metadata.name}` })),
];
