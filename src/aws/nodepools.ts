import type { NodePool } from '../api/nodepool.ts';
import { Requirements } from '../engine/requirements.ts';

/** What nodes of a NodePool must be like: its requirements, and the labels that it gives them. */
export const poolRequirements = ({ spec, metadata }: NodePool): Requirements =>
  Requirements.fromRequirements(spec.template.spec.requirements).intersect(
    Requirements.fromLabels({ ...spec.template.metadata?.labels, 'karpenter.sh/nodepool': metadata.name }),
  );
