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
  'Machines are not converted: they end with their nodes, and NodePools create NodeClaims for the nodes that follow';

const CREATED = 'NodeClaims are created by Karpenter; apply only those that you wrote yourself';

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
      ? 'v1beta1 did not expire NodeClaims of no NodePool'
      : `v1beta1 had it in NodePool ${pool} alone, by default ${BETA_EXPIRY}; write what is there`;
  edit.note('assumed', ['spec', 'expireAfter'], text);
  edit.note('assumed', [], CREATED);
  return parts;
}
