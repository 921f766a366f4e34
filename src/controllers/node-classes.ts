/** NodeClasses as far as provider-neutral controllers know them. */
import { type Conditioned, type ConditionSet, EC2NODECLASS_RESERVED_CONDITIONS, READY } from '../api/conditions.ts';
import { EC2_NODE_CLASS, type Kind } from '../api/kinds.ts';
import type { CloudProvider } from '../cloud/provider.ts';
import type { Informers } from '../kube/client.ts';

interface NodeClassReference {
  readonly group: string;
  readonly kind: string;
}

/** Every kind of NodeClass that some provider of this product serves. */
const KINDS: readonly Kind<Conditioned>[] = [EC2_NODE_CLASS];

export const nodeClassKinds = (cloud: CloudProvider): readonly Kind<Conditioned>[] =>
  KINDS.filter((known) => cloud.nodeClassKinds.some((served) => isSame(known, served)));

/** Conditions of a kind of NodeClass, those behind feature gates included. */
export const nodeClassConditions = (kind: NodeClassReference): ConditionSet =>
  isSame(kind, EC2_NODE_CLASS) ? EC2NODECLASS_RESERVED_CONDITIONS : { root: READY, dependents: [] };

export const isSame = (a: NodeClassReference, b: NodeClassReference): boolean =>
  a.group === b.group && a.kind === b.kind;

/** The label on claims and nodes whose value is the name of their NodeClass. */
export const nodeClassLabel = ({ group, kind }: NodeClassReference): string => `${group}/${kind.toLowerCase()}`;

/** The NodeClass that a reference names; undefined when it does not exist or nobody serves its kind. */
export function findNodeClass(
  informers: Informers,
  reference: NodeClassReference & { readonly name: string },
): Conditioned | undefined {
  const kind = KINDS.find((known) => isSame(known, reference));
  return kind && informers.store(kind).get({ name: reference.name });
}
