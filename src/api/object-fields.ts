/** Fields of objects that may be absent, as texts that are empty then: for metric labels, keys and look-ups. */

import { own } from '../lib/own.ts';
import type { KubeObject, Pod } from './kubernetes.ts';
import { NODEPOOL_LABEL } from './labels.ts';

type Labelled = { readonly metadata: Pick<KubeObject['metadata'], 'labels'> };

export const labelOf = ({ metadata }: Labelled, label: string): string => own(metadata.labels, label) ?? '';

/** Name of the NodePool that a node or claim belongs to. */
export const poolNameOf = (object: Labelled): string => labelOf(object, NODEPOOL_LABEL);

export const uidOf = ({ metadata }: { readonly metadata: Pick<KubeObject['metadata'], 'uid'> }): string =>
  metadata.uid ?? '';

/** Name of the node that a pod is bound to. */
export const nodeNameOf = ({ spec }: { readonly spec: Pick<Pod['spec'], 'nodeName'> }): string => spec.nodeName ?? '';
