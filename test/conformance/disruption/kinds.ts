/** Properties of scenarios by kind. Each kind studies one behaviour. */
import type { NodePool } from '#api/objects';

type Disruption = NonNullable<NodePool['spec']['disruption']>;
export type Budget = NonNullable<Disruption['budgets']>[number];

/** Traits of random scenarios. Numbers are probabilities; lists contain the possible values. */
export interface Traits {
  readonly pools: readonly number[];
  readonly nodes: readonly [least: number, most: number];
  /** Fraction of a node's pods that remain. */
  readonly kept: readonly [least: number, most: number];
  /** Each node has the highest price of this number of random choices. */
  readonly draws: number;
  readonly emptyNodes: number;
  readonly policies: readonly NonNullable<Disruption['consolidationPolicy']>[];
  readonly consolidateAfter: readonly string[];
  readonly budgets: readonly (readonly Budget[] | undefined)[];
  readonly capacityTypes: readonly (readonly string[])[];
  readonly spotToSpot: readonly boolean[];
  readonly reserved: boolean;
  /** Possible numbers of available instance types. */
  readonly types: readonly number[];
  readonly minValues: number;
  readonly limits: number;
  readonly taints: number;
  readonly daemons: number;
  readonly budgeted: number;
  readonly protectedNodes: number;
  readonly protectedPods: number;
  readonly drifted: number;
  readonly gracePeriod: number;
  readonly staticPools: number;
  /** Probability of nodes that are not both initialized and ready. */
  readonly odd: number;
  readonly notConsolidatable: number;
  readonly pending: number;
  readonly topology: number;
  readonly volumes: number;
  readonly costs: number;
  /** Probability of pods that are finished, terminating, without an owner, or of a StatefulSet. */
  readonly oddPods: number;
}

const PLAIN: Traits = {
  pools: [1],
  nodes: [3, 9],
  kept: [0.1, 0.7],
  draws: 1,
  emptyNodes: 0,
  policies: ['WhenEmptyOrUnderutilized'],
  consolidateAfter: ['0s'],
  budgets: [[{ nodes: '100%' }]],
  capacityTypes: [['on-demand']],
  spotToSpot: [false],
  reserved: false,
  types: [100, 8, 14, 20, 30],
  minValues: 0.1,
  limits: 0,
  taints: 0,
  daemons: 0,
  budgeted: 0,
  protectedNodes: 0,
  protectedPods: 0,
  drifted: 0,
  gracePeriod: 0,
  staticPools: 0,
  odd: 0,
  notConsolidatable: 0,
  pending: 0,
  topology: 0,
  volumes: 0,
  costs: 0.1,
  oddPods: 0,
};

/** Budgets of scenarios, which are evaluated on a Wednesday, 10:30 UTC. */
const BUDGETS: Traits['budgets'] = [
  undefined,
  [],
  [{ nodes: '0' }],
  [{ nodes: '1' }],
  [{ nodes: '30%' }, { nodes: '5' }],
  [{ nodes: '50%' }],
  [{ nodes: '34%', reasons: ['Underutilized', 'Drifted'] }, { nodes: '2' }],
  [
    { nodes: '0', reasons: ['Underutilized'] },
    { nodes: '50%', reasons: ['Empty'] },
  ],
  [{ nodes: '0', schedule: '0 9 * * 1-5', duration: '2h' }],
  [{ nodes: '0', schedule: '0 9 * * *', duration: '1h30m' }], // ended exactly now
  [{ nodes: '0', schedule: '30 10 * * *', duration: '5m' }], // begins exactly now
  [{ nodes: '0', schedule: '@daily', duration: '10h' }, { nodes: '2' }],
  [{ nodes: '1', schedule: '@hourly', duration: '31m' }],
  [{ nodes: '0', schedule: '*/7 10,11 * 6 0', duration: '3m' }],
  [{ nodes: '3', schedule: '0 0 1 * 3', duration: '12h', reasons: ['Empty'] }, { nodes: '60%' }],
];

const SPOT = [['spot']];
const BOTH = [['spot', 'on-demand']];

export const KINDS: Readonly<Record<string, Partial<Traits>>> = {
  balanced: { policies: ['Balanced'], pools: [1, 2], kept: [0.3, 0.9], emptyNodes: 0.05 },
  budgets: { pools: [1, 2], budgets: BUDGETS, emptyNodes: 0.3, odd: 0.15, drifted: 0.1 },
  cheaper: { nodes: [1, 3], draws: 3, kept: [0.1, 0.4] },
  costs: { costs: 0.7, emptyNodes: 0.2, oddPods: 0.1 },
  daemons: { daemons: 3, kept: [0.1, 0.5] },
  drift: {
    drifted: 0.6,
    emptyNodes: 0.25,
    consolidateAfter: ['Never'],
    budgets: [[{ nodes: '100%' }], [{ nodes: '100%' }], [{ nodes: '1' }], [{ nodes: '0', reasons: ['Drifted'] }]],
    budgeted: 0.3,
    protectedPods: 0.1,
    gracePeriod: 0.6,
    topology: 0.2,
  },
  empty: { emptyNodes: 0.5, pools: [1, 2], budgets: BUDGETS.slice(2, 6), daemons: 1, notConsolidatable: 0.2 },
  lifecycle: { odd: 0.4, emptyNodes: 0.15, budgets: BUDGETS.slice(3, 6), kept: [0.1, 0.5] },
  mix: {
    pools: [1, 2, 3],
    emptyNodes: 0.1,
    policies: ['WhenEmptyOrUnderutilized', 'Balanced', 'WhenEmpty'],
    consolidateAfter: ['0s', '0s', '30s', 'Never'],
    budgets: [[{ nodes: '100%' }], ...BUDGETS],
    capacityTypes: [['on-demand'], ...SPOT, ...BOTH],
    spotToSpot: [true, false],
    minValues: 0.2,
    limits: 0.2,
    taints: 0.2,
    daemons: 1,
    budgeted: 0.2,
    protectedNodes: 0.1,
    protectedPods: 0.05,
    drifted: 0.1,
    gracePeriod: 0.3,
    staticPools: 0.2,
    odd: 0.1,
    notConsolidatable: 0.1,
    pending: 2,
    topology: 0.3,
    volumes: 0.15,
    costs: 0.3,
    oddPods: 0.1,
  },
  mixed: { capacityTypes: BOTH, spotToSpot: [true, false] },
  pack: { nodes: [4, 12] },
  pdb: { budgeted: 1, nodes: [4, 9], oddPods: 0.05 },
  pending: { pending: 6, kept: [0.1, 0.5] },
  pools: { pools: [2, 3], limits: 0.3, taints: 0.4, capacityTypes: [['on-demand'], ...BOTH] },
  protected: { protectedNodes: 0.2, protectedPods: 0.08, emptyNodes: 0.1, gracePeriod: 0.3, drifted: 0.2 },
  reserved: {
    reserved: true,
    capacityTypes: [['on-demand'], ['reserved', 'on-demand'], ['reserved', 'spot', 'on-demand']],
  },
  spotoff: { capacityTypes: SPOT },
  spoton: {
    nodes: [1, 3],
    draws: 6,
    kept: [0.05, 0.4],
    types: [100, 100, 30],
    capacityTypes: [...SPOT, ...SPOT, ...BOTH],
    spotToSpot: [true],
    minValues: 0.2,
  },
  static: {
    staticPools: 0.8,
    pools: [2, 3],
    drifted: 0.5,
    budgets: [[{ nodes: '100%' }], [{ nodes: '100%' }], ...BUDGETS],
    odd: 0.05,
  },
  topology: { topology: 0.8, kept: [0.1, 0.5] },
  waiting: { pools: [2], consolidateAfter: ['10m', '30s', '0s'], emptyNodes: 0.15, odd: 0.1 },
  whenempty: { policies: ['WhenEmpty', 'WhenEmptyOrUnderutilized'], emptyNodes: 0.25, pools: [1, 2] },
};

export const traitsOf = (kind: string): Traits => ({ ...PLAIN, ...KINDS[kind] });
