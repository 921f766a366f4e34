import type { NodePool } from '#api/objects';
import { Requirements } from '#engine/model';

/** Returns the requirements of a NodePool, including the labels of its template. */
export const poolRequirements = ({ spec, metadata }: NodePool): Requirements =>
  Requirements.fromRequirements(spec.template.spec.requirements).intersect(
    Requirements.fromLabels({ ...spec.template.metadata?.labels, 'karpenter.sh/nodepool': metadata.name }),
  );
