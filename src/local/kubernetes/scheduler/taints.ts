import type { Node, Taint, Toleration } from '#api/objects';
import { untolerated } from '#engine/model';
import type { Filter } from './view.ts';

export const findUntolerated = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly Taint['effect'][],
): Taint | undefined => untolerated(tolerations, taints).find(({ effect }) => effects.includes(effect));

/** Effects that prevent scheduling. */
const HARD: readonly Taint['effect'][] = ['NoSchedule', 'NoExecute'];

/** Reports whether the taints allow a pod with these tolerations on the node. */
export const toleratesNode = (tolerations: readonly Toleration[] | undefined, node: Node): boolean =>
  findUntolerated(node.spec?.taints, tolerations, HARD) === undefined;

/** NoSchedule and NoExecute taints must be tolerated. */
export const taintToleration: Filter =
  (pod) =>
  ({ node }) => {
    const taint = findUntolerated(node.spec?.taints, pod.spec.tolerations, HARD);
    return taint && [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`];
  };
