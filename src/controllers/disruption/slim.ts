/** Nodes without what disruption's experiments never look at: the laboratory's copy of a cluster is much smaller for it. */
import { getCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../api/labels.ts';
import type { StateNode } from '../../engine/model.ts';
import { DELETION_COST_ANNOTATION } from '../../engine/pods.ts';
import { slimNode, slimPod } from '../slim.ts';

const ANNOTATIONS = [DO_NOT_DISRUPT_ANNOTATION, DELETION_COST_ANNOTATION];

/** What solving looks at, and what decides whether and how dearly the pod can be moved. */
function slimBoundPod(pod: Pod): Pod {
  const { metadata, ...slim } = slimPod(pod);
  const { annotations: all = {}, ...rest } = metadata;
  const annotations = Object.fromEntries(Object.entries(all).filter(([key]) => ANNOTATIONS.includes(key)));
  const ready = getCondition(pod, 'Ready');
  return {
    ...slim,
    metadata: Object.keys(annotations).length === 0 ? rest : { ...rest, annotations },
    ...(ready?.status === 'False' ? { status: { ...slim.status, conditions: [ready] } } : {}),
  };
}

export const slimForExperiments = (node: StateNode): StateNode => ({
  ...slimNode({ ...node, pods: [] }),
  pods: node.pods.map(slimBoundPod),
});
