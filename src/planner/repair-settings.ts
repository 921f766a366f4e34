/** Settings of the repair of nodes, from the policies of a cluster. */
import { sectionFor } from '#api/objects';
import { type RepairRule, type RepairSettings, repairSettings } from '#engine/disruption';
import type { Stores } from '#state';

/**
 * Returns a function that finds the settings in force for the nodes of a NodePool, by its name.
 * @param defaults rules of the provider
 */
export function repairSettingsOf(
  { nodePools, nodePolicies }: Pick<Stores, 'nodePools' | 'nodePolicies'>,
  defaults: readonly RepairRule[],
): (pool: string) => RepairSettings {
  const policies = nodePolicies.list();
  const known = new Map<string, RepairSettings>();
  return (name) => {
    const found = known.get(name);
    if (found !== undefined) return found;
    const pool = policies.length === 0 ? undefined : nodePools.get({ name });
    const settings = repairSettings(pool && sectionFor(policies, pool, 'repair')?.value, defaults);
    known.set(name, settings);
    return settings;
  };
}
