import type { Pod } from '../../../api/kubernetes.ts';

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;
