import type { Pod } from '#api/objects';

export const priorityOf = ({ spec }: Pod): number => spec.priority ?? 0;
