/** NodePolicies and CapacityQuotas of manifests. */
import { type CapacityQuota, type NodePolicy, type NodePool, overruledSections } from '#api/objects';
import { nodePolicyErrors, readQuota } from '#api/validation';
import type { Manifest } from './read.ts';
import { validateStored } from './stored.ts';

/**
 * Returns notes on invalid sections, and on sections that another policy sets.
 *
 * @throws InputError with the policy and the field
 */
export function policyNotes(manifests: readonly Manifest[], nodePools: readonly NodePool[]): readonly string[] {
  const found = manifests
    .filter(({ object }) => object.kind === 'NodePolicy')
    .map((manifest) => ({ where: manifest.where, policy: validateStored<NodePolicy>(manifest) }));
  const overruled = overruledSections(
    found.map(({ policy }) => policy),
    nodePools,
  );
  return found.flatMap(({ where, policy }) => [
    ...nodePolicyErrors(policy).map((error) => `${where}: ${error}`),
    ...(overruled.get(policy.metadata.name) ?? []).map(
      ({ section, nodePool, by }) => `${where}: ${section} of NodePool ${nodePool} is set by NodePolicy ${by} instead`,
    ),
  ]);
}

/**
 * Returns notes on invalid parts of CapacityQuotas.
 *
 * @throws InputError with the quota and the field
 */
export const quotaNotes = (manifests: readonly Manifest[]): readonly string[] =>
  manifests
    .filter(({ object }) => object.kind === 'CapacityQuota')
    .flatMap((manifest) =>
      readQuota(validateStored<CapacityQuota>(manifest)).errors.map((error) => `${manifest.where}: ${error}`),
    );
