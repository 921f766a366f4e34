/** NodeClasses, as provider-neutral controllers use them. */
import {
  type Conditioned,
  type ConditionSet,
  EC2_NODE_CLASS,
  EC2NODECLASS_RESERVED_CONDITIONS,
  type Kind,
  READY,
} from '#api/objects';
import type { CloudProvider } from '#cloud';
import type { Informers } from '#kube/client';
import type { NodeClassOf } from '#planner';

interface NodeClassReference {
  readonly group: string;
  readonly kind: string;
}

/** All kinds of NodeClass that the providers of this product serve. */
const KINDS: readonly Kind<Conditioned>[] = [EC2_NODE_CLASS];

export const nodeClassKinds = (cloud: CloudProvider): readonly Kind<Conditioned>[] =>
  KINDS.filter((known) => cloud.nodeClassKinds.some((served) => isSame(known, served)));

/** Returns the conditions of a kind of NodeClass, including conditions behind feature gates. */
export const nodeClassConditions = (kind: NodeClassReference): ConditionSet =>
  isSame(kind, EC2_NODE_CLASS) ? EC2NODECLASS_RESERVED_CONDITIONS : { root: READY, dependents: [] };

export const isSame = (a: NodeClassReference, b: NodeClassReference): boolean =>
  a.group === b.group && a.kind === b.kind;

/** Returns the label on NodeClaims and nodes that contains the name of their NodeClass. */
export const nodeClassLabel = ({ group, kind }: NodeClassReference): string => `${group}/${kind.toLowerCase()}`;

/** Returns a function that finds the NodeClasses of NodePools. */
export const nodeClassesOf =
  (informers: Informers): NodeClassOf =>
  ({ spec }) =>
    findNodeClass(informers, spec.template.spec.nodeClassRef);

/** Returns the NodeClass of a reference, or undefined if it does not exist or no provider serves its kind. */
export function findNodeClass(
  informers: Informers,
  reference: NodeClassReference & { readonly name: string },
): Conditioned | undefined {
  const kind = KINDS.find((known) => isSame(known, reference));
  return kind && informers.store(kind).get({ name: reference.name });
}
