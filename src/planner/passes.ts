/** Input of disruption methods and of blockers, from the state of a cluster and the settings of the operator. */

import { enabledMethods, type ForecastOptions, type Method, type PassInput, passInput } from '#engine/disruption';
import { type BlockerContext, blockersIn, type NodeBlockers } from '#engine/drain';
import type { ClusterState } from '#state';
import type { DisruptionInput } from './inputs.ts';
import type { DecisionSettings } from './options.ts';

/** Settings of the operator that price moves. */
interface MoveSettings {
  /** True if moves have a price. */
  readonly steering: boolean;
  /** USD for each eviction besides lost work. */
  readonly evictionPrice: number;
}

export interface PassSettings extends MoveSettings, Pick<DecisionSettings, 'consolidation'> {
  readonly featureGates: { readonly spotToSpotConsolidation: boolean; readonly staticCapacity: boolean };
}

/** Returns the disruption methods that run with these settings, in order. */
export const methodsFor = ({ consolidation, featureGates }: PassSettings): readonly Method[] =>
  enabledMethods(consolidation, featureGates.staticCapacity);

const movePrices = (
  { jobFailures }: Pick<ClusterState, 'jobFailures'>,
  { steering, evictionPrice }: MoveSettings,
): Pick<PassInput, 'evictionUsd'> & Pick<ForecastOptions, 'failuresOf'> => ({
  evictionUsd: steering ? evictionPrice : undefined,
  failuresOf: jobFailures.of,
});

interface PassParts
  extends Pick<PassInput, 'nowMs' | 'simulate' | 'elapsedMs'>,
    Partial<Pick<PassInput, 'unseenPools' | 'showsPrices'>> {
  readonly cluster: Pick<ClusterState, 'jobFailures'>;
  readonly settings: PassSettings;
}

/** Returns the input of the disruption methods of one pass. */
export const passOf = (
  input: Omit<DisruptionInput, 'simulation'>,
  { cluster, settings, ...parts }: PassParts,
): PassInput =>
  passInput(input, {
    ...parts,
    ...movePrices(cluster, settings),
    spotToSpot: settings.featureGates.spotToSpotConsolidation,
  });

interface BlockerParts extends Pick<BlockerContext, 'nowMs' | 'pools' | 'commitments' | 'firstReported'> {
  readonly settings: MoveSettings;
}

/** Finds the blockers of each node when the iterator reaches it. */
export function blockersOf(cluster: ClusterState, { settings, ...parts }: BlockerParts): Iterable<NodeBlockers> {
  const { podDisruptionBudgets, persistentVolumeClaims, volumeAttachments } = cluster.stores;
  return blockersIn({
    ...parts,
    ...movePrices(cluster, settings),
    nodes: cluster.nodes(),
    gangGroups: cluster.gangGroups(),
    podDisruptionBudgets: podDisruptionBudgets.list(),
    ignoresClaims: cluster.devices === undefined,
    volumeAttachments: volumeAttachments.list(),
    volumeClaim: (ref) => persistentVolumeClaims.get(ref),
  });
}
