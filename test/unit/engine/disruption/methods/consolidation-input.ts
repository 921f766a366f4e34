/** Builders of candidates, simulations and inputs of consolidation methods. */
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL } from '#api/objects';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import type { InstanceType, Plan, PlannedClaim } from '../../../../../src/engine/model.ts';
import { instanceType, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

export const types = [1, 2, 4, 8, 16].map((cpu) => instanceType(`m.${cpu}`, cpu, cpu * 0.05));
export const pools = new Map(
  ['default', 'other'].map((name) => [name, { nodePool: pool(name), instanceTypes: types }]),
);

export function candidate(name: string, more: Parameters<typeof stateNode>[1] = {}): Candidate {
  const node = stateNode(name, { type: 'm.4', pods: [pod(`on-${name}`)], ...more });
  const found = candidateOf(node, {
    nowMs: NOW,
    class: 'graceful',
    inProgress: new Set(),
    pools,
    podDisruptionBudgets: [],
  });
  if (isBlock(found)) throw new Error(found.text);
  return found;
}

const plan: Plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };

export const planned = (names: readonly string[], capacityTypes = ['on-demand', 'spot']): PlannedClaim => ({
  nodePool: 'default',
  pods: [],
  instanceTypes: names,
  requirements: [
    { key: INSTANCE_TYPE_LABEL, operator: 'In', values: [...names] },
    { key: 'karpenter.sh/capacity-type', operator: 'In', values: capacityTypes },
  ],
  requests: {},
  labels: {},
  annotations: {},
  cheapest: names[0] ?? '',
  usdPerHour: 1,
});

export const solved = (
  claims: readonly PlannedClaim[] = [],
  stranded: readonly string[] = [],
  instanceTypes: readonly InstanceType[] = types,
): Simulation => ({
  claims,
  pools: [{ nodePool: pool(), instanceTypes }],
  plan: { ...plan, claims },
  stranded: new Map(stranded.map((key) => [key, 'no room'])),
});

/** Returns the types with spot offerings for the given names only. */
export const soldAsSpot = (names: readonly string[]): readonly InstanceType[] =>
  types.map((type) => ({
    ...type,
    offerings: type.offerings.map((offering) => ({
      ...offering,
      available: names.includes(type.name) || !isSpot(offering),
    })),
  }));
const isSpot = ({ requirements }: InstanceType['offerings'][number]): boolean =>
  requirements.some(({ key, values = [] }) => key === CAPACITY_TYPE_LABEL && values.includes('spot'));

export const asking = (
  candidates: readonly Candidate[],
  simulate: (gone: readonly Candidate[]) => Simulation | undefined,
  more: Partial<MethodInput> = {},
): MethodInput => methodInputOf(candidates, { simulate: async (gone) => simulate(gone), ...more });
