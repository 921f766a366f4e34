import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Candidate, Method, MethodInput, MethodResult } from '#engine/disruption';
import { singleNode, swap } from '#engine/testing';
import type { SimulationRunner } from '#engine-worker';
import type { SimulationInput } from '#planner';
import { FEW_NODES, pacedSimulations } from '../../../../src/replay/operator/operator.ts';
import { partial } from '../../../support/partial.ts';
import { methodInputOf, NOW, pod } from '../../engine/disruption/objects.ts';

const MINUTE = 60_000;
const candidate = (name: string, podName = name): Candidate =>
  ({ name, providerId: name, reschedulablePods: [pod(podName)] }) as unknown as Candidate;
const clusterOf = (nodes: number): SimulationInput => partial({ snapshot: { nodes: Array(nodes) } });

let runner: SimulationRunner;
let simulated: string[];
beforeEach(() => {
  runner = pacedSimulations(() => NOW);
  simulated = [];
});

/** Simulates the deletion of each candidate, as single-node consolidation does, and returns the result of the test. */
const methodWith = (result: Partial<MethodResult>): Method => ({
  ...singleNode,
  decide: async ({ candidates, simulate }) => {
    for (const each of candidates) await simulate([each], { sparesQuietNodes: true });
    return { commands: [], exhausted: false, events: [], ...result };
  },
});

/** Returns the candidates that were simulated. */
async function search(
  candidates: readonly Candidate[],
  { nodes = FEW_NODES + 1, nowMs = NOW, result = {} as Partial<MethodResult> } = {},
): Promise<readonly string[]> {
  simulated = [];
  const simulate: MethodInput['simulate'] = async ([each]) => {
    simulated.push(each?.name ?? '');
    return undefined;
  };
  const input = methodInputOf(candidates, { simulate, nowMs });
  await runner.decide(clusterOf(nodes), methodWith(result), input, new AbortController().signal);
  return simulated;
}

describe('pacedSimulations', () => {
  it('simulates a node without a command again after half an hour, or when its pods change', async () => {
    expect(await search([candidate('a'), candidate('b')])).toEqual(['a', 'b']);
    const later = { nowMs: NOW + 30 * MINUTE - 1 };
    expect(await search([candidate('a'), candidate('b', 'other')], later)).toEqual(['b']);
    expect(await search([candidate('a')], { nowMs: NOW + 30 * MINUTE })).toEqual(['a']);
  });

  it('simulates each node each time in a cluster of few nodes', async () => {
    const nodes = FEW_NODES;
    expect([await search([candidate('a')], { nodes }), await search([candidate('a')], { nodes })]).toEqual([
      ['a'],
      ['a'],
    ]);
  });

  it.each<[string, (a: Candidate) => Partial<MethodResult>]>([
    [
      'the command of the search',
      (a) => ({ commands: [{ reason: 'Underutilized', candidates: [a], replacements: [] }] }),
    ],
    ['a command that its NodePool rejects', () => ({ reasons: new Map([['a', { code: 'unbalanced', text: '' }]]) })],
  ])('simulates a node again that has %s', async (_, resultFor) => {
    const a = candidate('a');
    await search([a], { result: resultFor(a) });
    expect(await search([a])).toEqual(['a']);
  });

  it('remembers tried sets of nodes for swaps for half an hour', async () => {
    const known: boolean[] = [];
    const set = [candidate('a'), candidate('b')];
    const method: Method = {
      ...swap,
      decide: async ({ tried, nowMs }) => {
        known.push(tried?.has(set, nowMs) ?? false);
        tried?.add(set, nowMs);
        return { commands: [], exhausted: true, events: [] };
      },
    };
    for (const nowMs of [NOW, NOW + 29 * MINUTE])
      await runner.decide(clusterOf(FEW_NODES + 1), method, methodInputOf([], { nowMs }), new AbortController().signal);
    expect(known).toEqual([false, true]);
  });
});
