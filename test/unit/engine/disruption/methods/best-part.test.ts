/** Choice among moves that have a price: the benefit beyond the price decides, and not the savings per hour. */
import { describe, expect, it } from '@jest/globals';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import type { Method, MethodInput } from '../../../../../src/engine/disruption/method.ts';
import { multiNode } from '../../../../../src/engine/disruption/methods/multi-node.ts';
import { swap } from '../../../../../src/engine/disruption/methods/swap.ts';
import type { Forecast } from '../../../../../src/engine/disruption/pricing/forecast.ts';
import type { Simulation } from '../../../../../src/engine/disruption/simulations/simulation.ts';
import { at, NOW, pod } from '../objects.ts';
import { asking, candidate, planned, pools, solved } from './consolidation-input.ts';

const HOUR = 3_600_000;
const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name: 'web', uid: 'web', controller: true };

/** Node for $0.2 an hour with pods of a service, which have run for an hour. */
const withPods = (name: string, count: number): Candidate =>
  candidate(name, {
    pods: Array.from({ length: count }, (_, index) =>
      pod(`${name}-${index}`, {
        metadata: { ownerReferences: [owner] },
        spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1m' } } }] },
        status: { phase: 'Running', startTime: at(NOW - HOUR) },
      }),
    ),
  });

/** Savings last for an hour, and each eviction costs about a cent. */
const forecast: Forecast = {
  hours: 1,
  unitPrices: { cpu: 0, memory: 0 },
  evictionUsd: 0.01,
  nodeStartMs: 30_000,
  podStartMs: new Map(),
  jobs: new Map(),
  ending: new Map(),
};
const priced: Partial<MethodInput> = { pools, forecasts: new Map([['default', forecast]]) };

async function moved(
  method: Method,
  candidates: readonly Candidate[],
  simulate: (gone: readonly Candidate[]) => Simulation,
  more: Partial<MethodInput> = priced,
): Promise<readonly string[] | undefined> {
  const { commands } = await method.decide(asking(candidates, simulate, { consolidation: 'thorough', ...more }));
  return commands[0]?.candidates.map(({ name }) => name).sort();
}

const onDemand = (count: number) => Array.from({ length: count }, () => planned(['m.2'], ['on-demand']));

describe('a move of several nodes', () => {
  const nodes = [withPods('a', 1), withPods('b', 1), withPods('c', 30)];

  it('leaves out a node that saves less than its evictions cost', async () => {
    expect(await moved(multiNode, nodes, () => solved())).toEqual(['a', 'b']);
    expect(await moved(multiNode, nodes, () => solved(), { pools })).toEqual(['a', 'b', 'c']);
  });

  it('is limited to one node if its removal alone is better', async () => {
    const pair = [withPods('a', 1), withPods('b', 20)];
    const needsNode = (gone: readonly Candidate[]) => solved(onDemand(gone.some(({ name }) => name === 'b') ? 1 : 0));
    expect(await moved(multiNode, pair, needsNode)).toEqual(['a']);
    expect(await moved(multiNode, pair, needsNode, { pools })).toEqual(['a', 'b']);
  });

  it('takes part in a swap only if it saves more than its evictions cost', async () => {
    const trade = (gone: readonly Candidate[]) => solved(onDemand(gone.length - 1));
    expect(await moved(swap, nodes, trade)).toEqual(['a', 'b']);
    expect(await moved(swap, nodes, trade, { pools })).toEqual(['a', 'b', 'c']);
  });
});
