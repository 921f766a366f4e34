import type { Node, Taint, Toleration } from '../../../api/kubernetes.ts';
import type { Filter } from './view.ts';

/** Reports whether a toleration covers a taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  if (toleration.operator === 'Gt') return Number(taint.value) > Number(toleration.value);
  if (toleration.operator === 'Lt') return Number(taint.value) < Number(toleration.value);
  // A toleration without a key is valid with Exists only.
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '');
}

export const findUntolerated = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly Taint['effect'][],
): Taint | undefined =>
  taints?.find((taint) => effects.includes(taint.effect) && !tolerations?.some((one) => tolerates(one, taint)));

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
