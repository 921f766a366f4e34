import type { Taint } from '../../../api/kubernetes.ts';
import { untolerated } from './taints.ts';
import type { Filter } from './view.ts';

const UNSCHEDULABLE: Taint = { key: 'node.kubernetes.io/unschedulable', effect: 'NoSchedule' };

/** Cordoned nodes take only pods that tolerate the unschedulable taint. */
export const nodeUnschedulable: Filter = (pod) => {
  if (!untolerated([UNSCHEDULABLE], pod.spec.tolerations, ['NoSchedule'])) return undefined;
  return ({ node }) => (node.spec?.unschedulable ? ['node(s) were unschedulable'] : undefined);
};
