/** Converts a NodeClaim of karpenter.sh/v1beta1 to v1. */
import { NODEPOOL_LABEL } from '../../api/labels.ts';
import type { ObjectEdit } from './edit.ts';
import { cleanMetadata, renameLabels } from './metadata.ts';
import { BETA_EXPIRY, convertBetaSpec } from './nodepool.ts';
import { cleanClaimRequirements } from './pool-template.ts';
import type { PoolOptions, PoolParts } from './provisioner.ts';
import { LABELS, V1 } from './renames.ts';

/** Note for Machines, which are omitted from the output. */
export const MACHINE_LEFT_OUT =
  'Machines are not converted; they are deleted with their nodes, and NodePools create NodeClaims for new nodes';

const CREATED = 'NodeClaims are created by Karpenter; apply only NodeClaims that you created yourself';

/** @throws InputError with the field that cannot be converted */
export function convertBetaNodeClaim(edit: ObjectEdit, { isPatch }: PoolOptions): PoolParts {
  edit.set(['apiVersion'], V1);
  cleanMetadata(edit, { keepHashes: true });
  renameLabels(edit, ['metadata', 'labels']);
  if (!isPatch && !edit.has(['spec'])) edit.fail(['spec'], 'is required');
  edit.dropNulls(['spec']);
  const parts = convertBetaSpec(edit, ['spec'], isPatch);
  cleanClaimRequirements(edit, ['spec', 'requirements']);
  for (const index of edit.indexes(['spec', 'requirements'])) {
    const path = ['spec', 'requirements', index, 'key'];
    const name = LABELS.get(edit.text(path) ?? '');
    if (name !== undefined) edit.replaceValue(path, name);
  }
  if (isPatch || edit.has(['spec', 'expireAfter'])) return parts;
  const pool = edit.text(['metadata', 'labels', NODEPOOL_LABEL]);
  edit.set(['spec', 'expireAfter'], pool === undefined ? 'Never' : BETA_EXPIRY);
  const text =
    pool === undefined
      ? 'v1beta1 did not expire NodeClaims without a NodePool'
      : `in v1beta1, only NodePool ${pool} had this field, with default ${BETA_EXPIRY}; use its value`;
  edit.note('assumed', ['spec', 'expireAfter'], text);
  edit.note('assumed', [], CREATED);
  return parts;
}
