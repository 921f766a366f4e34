/** States of pods that a replay measures. */
import { getCondition } from '../../api/conditions.ts';
import type { Pod } from '../../api/kubernetes.ts';

export const phaseOf = ({ status }: Pod): string => status?.phase ?? 'Pending';

/** Returns true if the pod was ended by an eviction, by a taint, or by the deletion of its node. */
export const hasLostNode = (pod: Pod): boolean => getCondition(pod, 'DisruptionTarget')?.status === 'True';
