/** Declares the feature gates and parses lists such as `Name=true,Other=false`. */
import { nearestName, quoted } from '#lib';
import { parseLaxBoolean, SettingsError } from './options.ts';

export interface FeatureGate {
  /** Name in the setting, for example `NodeRepair`. */
  readonly name: string;
  readonly fallback: boolean;
  readonly help: string;
}

export const gate = (name: string, fallback: boolean, help: string): FeatureGate => ({ name, fallback, help });

export const CORE_GATES = {
  reservedCapacity: gate('ReservedCapacity', true, 'Launch into capacity reservations'),
  spotToSpotConsolidation: gate('SpotToSpotConsolidation', false, 'Replace spot nodes with cheaper spot nodes'),
  nodeRepair: gate('NodeRepair', false, 'Replace unhealthy nodes'),
  nodeOverlay: gate('NodeOverlay', false, 'Apply custom prices and capacities of NodeOverlays'),
  staticCapacity: gate('StaticCapacity', true, 'Keep `spec.replicas` nodes of NodePools that set this field'),
  capacityBuffer: gate('CapacityBuffer', true, 'Reserve capacity for CapacityBuffers'),
  capacityQuota: gate('CapacityQuota', false, 'Launch no nodes beyond the limits of CapacityQuotas'),
  podGroup: gate('PodGroup', false, 'Read the minimum of gangs from PodGroups and Workloads'),
  provisioningRequest: gate('ProvisioningRequest', false, 'Provide and hold capacity for ProvisioningRequests'),
};

type Gates = Readonly<Record<string, FeatureGate>>;

/** State of each feature gate: true if the gate is enabled. */
export type Open<G extends Gates> = { readonly [Key in keyof G]: boolean };

/** Maximum number of characters of a name in a message. */
const LONGEST_NAME = 100;

/**
 * Parses a list such as `Name=true,Other=false`. Keeps unknown names, so that old manifests still work; `unknownGates`
 * reports them.
 * @throws SettingsError with the variable and the pair if a pair cannot be parsed
 */
export function parseGates(variable: string, list: string): ReadonlyMap<string, boolean> {
  const gates = new Map<string, boolean>();
  for (const pair of list.split(',')) {
    if (pair === '') continue;
    const [name = '', value] = pair.split(/=(.*)/s).map((part) => part.trim());
    if (value === undefined) {
      throw new SettingsError(
        `parsing feature gates, malformed pair ${quoted(pair)} in ${variable}, expect string=bool, for example NodeRepair=true`,
      );
    }
    const enabled = parseLaxBoolean(value);
    if (enabled === undefined) {
      throw new SettingsError(
        `parsing feature gates, invalid value of ${name.slice(0, LONGEST_NAME)} in ${variable}: ${quoted(value)}, must be true or false`,
      );
    }
    gates.set(name, enabled);
  }
  return gates;
}

export function openGates<const G extends Gates>(declared: G, given: ReadonlyMap<string, boolean>): Open<G> {
  const open = Object.entries(declared).map(([key, { name, fallback }]) => [key, given.get(name) ?? fallback]);
  return Object.fromEntries(open) as Open<G>;
}

/**
 * Returns one message for each unknown name. The message suggests the nearest declared name, or lists all declared names.
 * @param source variable, flag or file with the names
 */
export function unknownGates(source: string, declared: Gates, given: Iterable<string>): readonly string[] {
  const names = Object.values(declared).map(({ name }) => name);
  return [...given]
    .filter((name) => !names.includes(name))
    .map((name) => {
      const nearest = nearestName(name, names);
      const hint = nearest === undefined ? `use one of ${names.join(', ')}` : `did you mean ${nearest}?`;
      return `${source}: unknown feature gate ${quoted(name.slice(0, LONGEST_NAME))} is ignored; ${hint}`;
    });
}
