/** Keeps new pods and load balancers away from a node that is about to go. */
import type { Node } from '../../api/kubernetes.ts';
import { DISRUPTED_TAINT, EXCLUDE_BALANCERS_LABEL } from '../../api/labels.ts';
import { sameTaint } from '../../engine/taints.ts';

/** The node with the taint and the label; the same object when it has both. */
export function withDisruptedTaint(node: Node): Node {
  const taints = node.spec?.taints ?? [];
  const isTainted = taints.some((taint) => sameTaint(taint, DISRUPTED_TAINT));
  const isExcluded = node.metadata.labels?.[EXCLUDE_BALANCERS_LABEL] === 'karpenter';
  if (isTainted && isExcluded) return node;
  const others = taints.filter(({ key }) => key !== DISRUPTED_TAINT.key);
  return {
    ...node,
    metadata: {
      ...node.metadata,
      labels: { ...node.metadata.labels, [EXCLUDE_BALANCERS_LABEL]: 'karpenter' },
    },
    spec: { ...node.spec, taints: isTainted ? taints : [...others, DISRUPTED_TAINT] },
  };
}
