/** Options of solves, from the settings of the operator or the options of the command line. */

import { type ConsolidationMode, consolidationPolicy } from '#api/values';
import type { SolveOptions } from '#engine/model';

/** Settings of the operator that decisions depend on. */
export interface DecisionSettings
  extends Pick<SolveOptions, 'preferencePolicy' | 'minValuesPolicy' | 'ignoreDraRequests'>,
    Required<Pick<SolveOptions, 'packing'>> {
  readonly consolidation: ConsolidationMode;
  readonly featureGates: { readonly reservedCapacity: boolean };
}

function commonOptions(settings: DecisionSettings, reservedMode: 'strict' | 'fallback'): SolveOptions {
  const { preferencePolicy, minValuesPolicy, ignoreDraRequests, featureGates } = settings;
  return {
    preferencePolicy,
    minValuesPolicy,
    reservedMode: featureGates.reservedCapacity ? reservedMode : 'off',
    ignoreDraRequests,
  };
}

/** Returns the options of solves for launches. */
export const launchOptions = (settings: DecisionSettings): SolveOptions => ({
  ...commonOptions(settings, 'strict'),
  packing: settings.packing,
  afterBinding: true,
});

/** Returns the options of disruption's simulations. */
export const simulationOptions = (settings: DecisionSettings): SolveOptions => ({
  ...commonOptions(settings, 'fallback'),
  freesLimits: !consolidationPolicy(settings.consolidation).limitsLeavingNodes,
  // a simulation checks if ONE node can replace other nodes, so a solution with several cheaper nodes would be a failure
  packing: 'compatible',
});
