/** Optional fields of objects. Texts are empty if they are absent, for metric labels, keys and lookups. */

import { own } from '#lib';
import type { KubeObject, OwnerReference, Pod } from './kubernetes.ts';
import { NODEPOOL_LABEL } from './labels.ts';

type Labelled = { readonly metadata: Pick<KubeObject['metadata'], 'labels'> };

export const labelOf = ({ metadata }: Labelled, label: string): string => own(metadata.labels, label) ?? '';

/** Returns the name of the NodePool of a Node or NodeClaim. */
export const poolNameOf = (object: Labelled): string => labelOf(object, NODEPOOL_LABEL);

export const uidOf = ({ metadata }: { readonly metadata: Pick<KubeObject['metadata'], 'uid'> }): string =>
  metadata.uid ?? '';

/** Returns the name of the node to which a pod is bound. */
export const nodeNameOf = ({ spec }: { readonly spec: Pick<Pod['spec'], 'nodeName'> }): string => spec.nodeName ?? '';

/** Returns the owner that controls an object. */
export const controllerOf = ({
  metadata,
}: {
  readonly metadata: Pick<KubeObject['metadata'], 'ownerReferences'>;
}): OwnerReference | undefined => metadata.ownerReferences?.find(({ controller }) => controller);
