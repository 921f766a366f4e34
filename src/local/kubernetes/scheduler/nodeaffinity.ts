import { matchesNodeSelection } from './selectors.ts';
import type { Filter } from './view.ts';

/** nodeSelector and required node affinity. */
export const nodeAffinity: Filter = (pod) => {
  const required = pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution;
  if (!required && !pod.spec.nodeSelector) return undefined;
  return ({ node }) =>
    matchesNodeSelection(pod, node) ? undefined : ["node(s) didn't match Pod's node affinity/selector"];
};
