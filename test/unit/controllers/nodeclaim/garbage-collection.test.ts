import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import { ApiError } from '#kube/client';
import { garbageCollection } from '../../../../src/controllers/nodeclaim/garbage-collection.ts';
import { bench, nodeOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

describe('garbage collection', () => {
  const isGone = () => Promise.reject(new NodeClaimNotFound('it does not exist'));
  const start = (list: (b: Bench) => Promise<readonly NodeClaim[]>): Bench => {
    const b: Bench = bench([], (deps) => [
      garbageCollection({ ...deps, cloud: Object.assign(deps.cloud, { list: () => list(b), get: isGone }) }),
    ]);
    return b;
  };
  const numbered = (number: number, more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const claim = settledClaim(`claim-${number}`, { providerID: `aws:///zone-a/i-${number}` });
    return { ...claim, metadata: { ...claim.metadata, ...more } };
  };
  const node = (name: string, ready: 'True' | 'False') => ({
    ...nodeOf(name, {}, ready),
    spec: { providerID: 'aws:///zone-a/i-1' },
  });
  const unregistered = { ...numbered(1), status: { providerID: 'aws:///zone-a/i-1', conditions: [] } };
  const foreign = { ...numbered(1), spec: { ...numbered(1).spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } };

  it.each([
    { of: 'a claim without a Node', claim: numbered(1), nodes: [], collected: true },
    { of: 'a claim whose Node is not Ready', claim: numbered(1), nodes: [node('a', 'False')], collected: true },
    { of: 'a claim whose Node is Ready', claim: numbered(1), nodes: [node('a', 'True')], collected: false },
    {
      of: 'a claim with two Nodes',
      claim: numbered(1),
      nodes: [node('a', 'True'), node('b', 'True')],
      collected: true,
    },
    { of: 'a claim that is not registered', claim: unregistered, nodes: [], collected: false },
    {
      of: 'a claim that is being deleted',
      claim: numbered(1, { deletionTimestamp: '2026-01-01T00:00:00Z' }),
      nodes: [],
      collected: false,
    },
    { of: 'a claim of another provider', claim: foreign, nodes: [], collected: false },
  ])('collects $of: $collected', async ({ claim, nodes, collected }) => {
    const b = start(async () => []);
    b.put(NODE_CLAIM, claim);
    for (const each of nodes) b.put(NODE, each);
    await b.clock.advance(SECOND);
    expect(b.calls).toEqual(collected ? ['delete NodeClaim claim-1'] : []);
  });

  it('confirms the result of a list with a get', async () => {
    const claim = numbered(1);
    const ask = async (get: () => Promise<NodeClaim>): Promise<readonly string[]> => {
      const b: Bench = bench([], (deps) => [
        garbageCollection({ ...deps, cloud: Object.assign(deps.cloud, { list: async () => [], get }) }),
      ]);
      b.put(NODE_CLAIM, claim);
      b.put(NODE, node('a', 'False'));
      await b.clock.advance(SECOND);
      return b.calls;
    };
    expect(await ask(async () => claim)).toEqual([]);
    expect(await ask(() => Promise.reject(new Error('throttled')))).toEqual([]);
    const ending = { ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } };
    expect(await ask(async () => ending)).toEqual(['delete NodeClaim claim-1']);
  });

  it('keeps a claim that was created during the list, and runs every two minutes', async () => {
    let lists = 0;
    const b = start(async (world) => {
      lists += 1;
      if (lists === 1) world.put(NODE_CLAIM, numbered(1));
      return [];
    });
    await b.clock.advance(2 * MINUTE - SECOND);
    expect([lists, b.calls]).toEqual([1, []]);
    await b.clock.advance(2 * SECOND);
    expect([lists, b.calls]).toEqual([2, ['delete NodeClaim claim-1']]);
  });

  it('continues with other claims if a deletion fails, and retries the deletion', async () => {
    const b = start(async () => []);
    let refused = 0;
    b.world.failure = () => (refused++ < 1 ? new ApiError(500, 'InternalError', 'a bad day') : undefined);
    for (let number = 0; number < 45; number += 1) b.put(NODE_CLAIM, numbered(number));
    await b.clock.settle();
    expect(b.calls).toHaveLength(44);
    await b.clock.advance(2 * SECOND);
    expect(new Set(b.calls).size).toBe(45);
  });
});
