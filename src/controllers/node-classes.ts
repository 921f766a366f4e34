/** NodeClasses, as provider-neutral controllers use them. */
import type { Conditioned, KubeObject } from '#api/objects';
import type { CloudProvider } from '#cloud';
import type { Informers } from '#kube/client';
import { own } from '#lib';
import type { NodeClassOf } from '#planner';

interface NodeClassReference {
  readonly group: string;
  readonly kind: string;
}

interface Context {
  readonly informers: Informers;
  readonly cloud: Pick<CloudProvider, 'nodeClassKinds'>;
}

export const isSame = (a: NodeClassReference, b: NodeClassReference): boolean =>
  a.group === b.group && a.kind === b.kind;

/** Returns the label on NodeClaims and nodes that contains the name of their NodeClass. */
export const nodeClassLabel = ({ group, kind }: NodeClassReference): string => `${group}/${kind.toLowerCase()}`;

/** Returns the hash of the NodeClass of a reference in the annotations of the NodeClass or of one of its NodeClaims. */
export function nodeClassHash(
  { cloud }: Pick<Context, 'cloud'>,
  reference: NodeClassReference,
  object: KubeObject | undefined,
): string | undefined {
  const kind = cloud.nodeClassKinds.find((served) => isSame(served, reference));
  return kind && own(object?.metadata.annotations, kind.hashAnnotation);
}

/** Returns a function that finds the NodeClasses of NodePools. */
export const nodeClassesOf =
  (context: Context): NodeClassOf =>
  ({ spec }) =>
    findNodeClass(context, spec.template.spec.nodeClassRef);

/** Returns the NodeClass of a reference, or undefined if it does not exist or the provider does not serve its kind. */
export function findNodeClass(
  { informers, cloud }: Context,
  reference: NodeClassReference & { readonly name: string },
): Conditioned | undefined {
  const kind = cloud.nodeClassKinds.find((served) => isSame(served, reference));
  return kind && informers.store(kind).get({ name: reference.name });
}
