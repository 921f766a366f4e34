/** Reads the objects that exist before a trace starts from manifests. */
import type { KubeObject, NodePool, ObjectMeta, Pod } from '#api/objects';
import { InputError } from '../objects/errors.ts';
import type { Manifest } from '../objects/read.ts';
import { validateStored } from '../objects/stored.ts';
import { counted, inShort } from '../render/table.ts';

/**
 * Kinds that a replay ignores, because the trace contains the pods, and the operator and the cluster create the
 * remaining kinds.
 */
const MADE: ReadonlySet<string> = new Set([
  'CSINode',
  'ControllerRevision',
  'Endpoints',
  'EndpointSlice',
  'Event',
  'Lease',
  'Node',
  'NodeClaim',
  'ResourceSlice',
  'VolumeAttachment',
]);

/** Kinds that the replay creates if they have an owner. */
const OWNED: ReadonlySet<string> = new Set(['Pod', 'ReplicaSet', 'ResourceClaim']);

function isMade(object: KubeObject): boolean {
  const { kind, metadata } = object;
  if (MADE.has(kind)) return true;
  if (kind === 'Pod' && (object as Pod).spec.nodeName !== undefined) return true;
  return OWNED.has(kind) && (metadata.ownerReferences ?? []).length > 0;
}

interface Given {
  readonly objects: readonly KubeObject[];
  /** Notes for the user about ignored objects. */
  readonly notes: readonly string[];
}

/**
 * Returns objects as `kubectl create` would send them. Removes fields that an API server has added, and sets the
 * defaults of custom resources.
 *
 * @throws InputError with the document and all reasons for which the API server would reject it
 */
export function givenObjects(manifests: readonly Manifest[]): Given {
  const made = manifests.filter(({ object }) => isMade(object));
  const kinds = [...new Set(made.map(({ object }) => object.kind))].sort();
  return {
    objects: manifests.filter(({ object }) => !isMade(object)).map((manifest) => fresh(validateStored(manifest))),
    notes:
      made.length === 0
        ? []
        : [`${counted(made.length, 'object')} of kinds that the replay creates itself are ignored: ${inShort(kinds)}`],
  };
}

/** Fields of metadata that the API server sets, or that refer to objects that may not exist. */
const WRITTEN: ReadonlySet<string> = new Set([
  'uid',
  'resourceVersion',
  'generation',
  'creationTimestamp',
  'deletionTimestamp',
  'deletionGracePeriodSeconds',
  'finalizers',
  'managedFields',
  'ownerReferences',
  'selfLink',
] satisfies readonly (keyof ObjectMeta | 'managedFields' | 'selfLink')[]);

function fresh(object: KubeObject): KubeObject {
  const { status: _, ...rest } = object as KubeObject & { readonly status?: unknown };
  const metadata = Object.fromEntries(Object.entries(object.metadata).filter(([field]) => !WRITTEN.has(field)));
  return { ...rest, metadata: metadata as unknown as ObjectMeta };
}

/** Names of the NodePools and NodeClasses at the start of a trace. */
export interface Beginning {
  readonly nodePools: ReadonlySet<string>;
  readonly nodeClasses: ReadonlySet<string>;
}

/** @throws InputError if there is no NodePool, or if a NodePool's NodeClass is missing */
export function checkNodePools(manifests: readonly Manifest[], beginning: Beginning, sources: string): void {
  const of = (kind: string): readonly Manifest[] => manifests.filter(({ object }) => object.kind === kind);
  const pools = of('NodePool');
  if (pools.length === 0 && beginning.nodePools.size === 0)
    throw new InputError(sources, 'no NodePool found, so no node can be launched; add one with -f');
  const classes = new Set([...of('EC2NodeClass').map(({ object }) => object.metadata.name), ...beginning.nodeClasses]);
  for (const { object, where } of pools) {
    const name = (object as Partial<NodePool>).spec?.template?.spec?.nodeClassRef?.name;
    if (name !== undefined && !classes.has(name))
      throw new InputError(
        where,
        `spec.template.spec.nodeClassRef.name: EC2NodeClass ${JSON.stringify(name)} not found; add its manifest with -f`,
      );
  }
}
