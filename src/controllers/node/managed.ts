/** Which Nodes are ours: those labelled with a NodeClass of a kind that the provider serves. */

import type { Node } from '../../api/kubernetes.ts';
import { own } from '../../api/own.ts';
import type { CloudProvider } from '../../cloud/provider.ts';
import { nodeClassLabel } from '../node-classes.ts';

export const isManagedNode = ({ metadata }: Node, { nodeClassKinds }: CloudProvider): boolean =>
  nodeClassKinds.some((kind) => own(metadata.labels, nodeClassLabel(kind)) !== undefined);
