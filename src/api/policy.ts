/**
 * Meaning of the modes of packing and consolidation. `compatible` decides as Karpenter does, so it switches everything off that
 * is listed here. No other part compares modes.
 */

export type PackingMode = 'cheapest' | 'compatible';
export const PREFERENCE_POLICIES = ['Priced', 'Respect', 'Ignore'] as const;
export type PreferencePolicy = (typeof PREFERENCE_POLICIES)[number];
export type ConsolidationMode = 'thorough' | 'compatible';

export interface CostPolicy {
  /** Node fees, spot risks and surplus CPU credits count in decisions. Otherwise, only the prices of instances count. */
  readonly expectsCosts: boolean;
  /** Share of the price that the balance of zones may add. With 0, the cloud chooses among zones. */
  readonly zoneBalance: number;
  /** By default, preferences of pods are satisfied only if they are worth their price. */
  readonly pricesPreferences: boolean;
}

/** Decisions about launches. */
export interface PackingPolicy extends CostPolicy {
  /** New nodes are chosen by price, and NodePools of equal weight by their prices. Otherwise, nodes are filled one by one. */
  readonly packsByPrice: boolean;
  /** Pending pods stay on the nodes that were launched for them. */
  readonly keepsLaunches: boolean;
}

/** Decisions about nodes that exist. */
export interface ConsolidationPolicy extends CostPolicy {
  /** Several nodes may be replaced by several cheaper nodes. */
  readonly swapsNodes: boolean;
  /** Nodes are also searched in groups with a common trait. */
  readonly searchesGroups: boolean;
  /** A candidate that an exhausted search has not seen starts another search. */
  readonly seesNewCandidates: boolean;
  /** If spot is unavailable for a replacement, a cheaper on-demand node counts. */
  readonly fallsBackToOnDemand: boolean;
  /** Savings Plans and reserved instances count. */
  readonly countsCommitments: boolean;
  /** Nodes that are being replaced or removed count toward limits until they are gone. */
  readonly limitsLeavingNodes: boolean;
  /** By default, nodes are marked before moves, and moves have a price. */
  readonly steers: boolean;
}

/** Default share. Prices of spot offerings often differ more between two days. */
const ZONE_BALANCE = 0.03;

const PACKING: Readonly<Record<PackingMode, PackingPolicy>> = {
  cheapest: {
    expectsCosts: true,
    zoneBalance: ZONE_BALANCE,
    packsByPrice: true,
    keepsLaunches: true,
    pricesPreferences: true,
  },
  compatible: {
    expectsCosts: false,
    zoneBalance: 0,
    packsByPrice: false,
    keepsLaunches: false,
    pricesPreferences: false,
  },
};

const CONSOLIDATION: Readonly<Record<ConsolidationMode, ConsolidationPolicy>> = {
  thorough: {
    expectsCosts: true,
    zoneBalance: ZONE_BALANCE,
    pricesPreferences: true,
    swapsNodes: true,
    searchesGroups: true,
    seesNewCandidates: true,
    fallsBackToOnDemand: true,
    countsCommitments: true,
    limitsLeavingNodes: true,
    steers: true,
  },
  compatible: {
    expectsCosts: false,
    zoneBalance: 0,
    pricesPreferences: false,
    swapsNodes: false,
    searchesGroups: false,
    seesNewCandidates: false,
    fallsBackToOnDemand: false,
    countsCommitments: false,
    limitsLeavingNodes: false,
    steers: false,
  },
};

export const packingPolicy = (mode: PackingMode = 'cheapest'): PackingPolicy => PACKING[mode];
export const consolidationPolicy = (mode: ConsolidationMode): ConsolidationPolicy => CONSOLIDATION[mode];
export const defaultPreferencePolicy = (packing: PackingMode, consolidation: ConsolidationMode): PreferencePolicy =>
  packingPolicy(packing).pricesPreferences && consolidationPolicy(consolidation).pricesPreferences
    ? 'Priced'
    : 'Respect';
