/** Inputs with extreme values of the custom kinds: one input for each field, with one object for each value. */
import type { KubeObject, Pod } from '#api/objects';
import { bufferBase, nodeClaimBase, nodeClassBase, nodePoolBase, overlayBase, policyBase } from './bases.ts';
import { smallPod } from './healthy.ts';
import type { ObjectsInput } from './play.ts';
import { fieldsOf } from './schema-extremes.ts';

/**
 * Returns additional objects that make the operator use an object: a pod that selects it, or a NodePool that refers
 * to it.
 */
type Company = (object: KubeObject) => readonly KubeObject[];

const podOf = (pool: string): Pod => smallPod(pool, { 'karpenter.sh/nodepool': pool });

const COMPANY: Readonly<Record<string, Company>> = {
  NodePool: ({ metadata }) => [podOf(metadata.name)],
  EC2NodeClass: ({ metadata }) => [nodePoolBase(metadata.name, metadata.name), podOf(metadata.name)],
  NodeClaim: () => [],
  NodeOverlay: () => [],
  NodePolicy: () => [],
  CapacityBuffer: () => [],
};

const BASES: readonly KubeObject[] = [
  nodePoolBase('x'),
  nodeClassBase('x'),
  nodeClaimBase('x'),
  overlayBase('x'),
  policyBase('x'),
  bufferBase('x'),
];

/** @param kind one of the custom kinds */
export function customInputs(kind: string): readonly ObjectsInput[] {
  const base = BASES.find((candidate) => candidate.kind === kind);
  if (base === undefined) throw new Error(`there is no base of kind ${kind}`);
  return fieldsOf(base).map(({ path, objects }, field) => ({
    name: `${kind} ${path}`,
    objects: objects.flatMap((object, value) => {
      const name = `hostile-${kind.toLowerCase()}-${field}-${value}`;
      const named = { ...object, metadata: { ...object.metadata, name } };
      return [named, ...(COMPANY[kind]?.(named) ?? [])];
    }),
    explained: [kind, 'Pod'],
  }));
}
