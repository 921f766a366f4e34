import type { Node, Taint, Toleration } from '../../../api/kubernetes.ts';
import type { Filter } from './view.ts';

/** Whether a toleration covers a taint. */
export function tolerates(toleration: Toleration, taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.key && toleration.key !== taint.key) return false;
  if (toleration.operator === 'Exists') return true;
  if (toleration.operator === 'Gt') return Number(taint.value) > Number(toleration.value);
  if (toleration.operator === 'Lt') return Number(taint.value) < Number(toleration.value);
  // Without a key only Exists is valid.
  return Boolean(toleration.key) && (toleration.value ?? '') === (taint.value ?? '');
}

export const untolerated = (
  taints: readonly Taint[] | undefined,
  tolerations: readonly Toleration[] | undefined,
  effects: readonly Taint['effect'][],
): Taint | undefined =>
  taints?.find((taint) => effects.includes(taint.effect) && !tolerations?.some((one) => tolerates(one, taint)));

/** Those that keep pods off a node. */
const HARD: readonly Taint['effect'][] = ['NoSchedule', 'NoExecute'];

/** Whether the scheduler would put a pod with these tolerations on the node, as far as taints go. */
export const toleratesNode = (tolerations: readonly Toleration[] | undefined, node: Node): boolean =>
  untolerated(node.spec?.taints, tolerations, HARD) === undefined;

/** NoSchedule and NoExecute taints need a toleration. */
export const taintToleration: Filter =
  (pod) =>
  ({ node }) => {
    const taint = untolerated(node.spec?.taints, pod.spec.tolerations, HARD);
    return taint && [`node(s) had untolerated taint {${taint.key}: ${taint.value ?? ''}}`];
  };
