import { describe, expect, it } from '@jest/globals';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { drift } from '../../../../../src/engine/disruption/methods/drift.ts';
import { described } from '../../../../../src/engine/disruption/pass.ts';
import type { Simulation, SimulationOptions } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import type { Plan } from '../../../../../src/engine/model.ts';
import { at, claim, methodInputOf, NOW, pod, pool, stateNode } from '../objects.ts';

const pools = new Map(['default', 'other'].map((name) => [name, { nodePool: pool(name), instanceTypes: [] }]));

const drifted = (name: string, minutes: number, pods = 1, poolName = 'default'): Candidate => {
  const lastTransitionTime = at(NOW - minutes * 60_000);
  const conditions = [{ type: 'Drifted', status: 'True' as const, lastTransitionTime }];
  const node = stateNode(name, {
    pool: poolName,
    claim: claim(name, { status: { conditions } }),
    pods: Array.from({ length: pods }, (_, index) => pod(`${name}-${index}`)),
  });
  return described(node, pools) as Candidate;
};

const plan: Plan = { claims: [], placements: [], refusals: new Map(), notEvaluated: [], emptyPools: [] };
const solved = (stranded: readonly string[] = []): Simulation => ({
  claims: [],
  pools: [],
  plan,
  stranded: new Map(stranded.map((key) => [key, 'no room'])),
});

async function decided(
  candidates: readonly Candidate[],
  simulate: (name: string, options: SimulationOptions) => Simulation | undefined = () => solved(),
  budgets = { default: 9, other: 9 },
) {
  const asked: string[] = [];
  const question = methodInputOf(candidates, {
    budgets: new Map(Object.entries(budgets)),
    simulate: async ([gone], options) => {
      asked.push(gone?.name ?? '');
      return simulate(gone?.name ?? '', options);
    },
  });
  const { commands, events, reasons } = await drift.decide(question);
  return { taken: commands.flatMap(({ candidates: own }) => own.map(({ name }) => name)), asked, events, reasons };
}

describe('drift', () => {
  it('selects empty nodes first, then the node that drifted first', async () => {
    const all = [drifted('a', 10), drifted('b', 30), drifted('c', 20, 0), drifted('d', 25, 0)];
    const { asked } = await decided(all, () => solved(['default/x']));
    expect(asked).toEqual(['d', 'c', 'b', 'a']);
    expect((await decided(all)).taken).toEqual(['d']);
  });

  it('may move pods to nodes within consolidateAfter, because drift must proceed', async () => {
    let spares: boolean | undefined;
    await decided([drifted('a', 10)], (_, options) => {
      spares = options.sparesQuietNodes;
      return solved();
    });
    expect(spares).toBe(false);
  });

  it('skips nodes that are being deleted, that would strand pods, or that exceed the budget', async () => {
    const all = [drifted('a', 40), drifted('b', 30), drifted('c', 20, 1, 'other'), drifted('d', 10)];
    const answers = new Map([
      ['a', undefined],
      ['b', solved(['default/b-0'])],
      ['d', solved()],
    ]);
    const { taken, asked, events, reasons } = await decided(all, (name) => answers.get(name), { default: 9, other: 0 });
    expect({ taken, asked }).toEqual({ taken: ['d'], asked: ['a', 'b', 'd'] });
    expect(events).toMatchObject([{ kind: 'DisruptionBlocked', candidate: { name: 'b' } }]);
    expect([...(reasons ?? [])].map(([id, { code }]) => [id, code])).toEqual([
      ['aws:///b', 'pods-stranded'],
      ['aws:///c', 'budget'],
    ]);
  });
});
