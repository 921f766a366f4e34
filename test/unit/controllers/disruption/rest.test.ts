/** When a pass of disruption need not be made, because it would see what the last one saw. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../../src/api/kubernetes.ts';
import { DO_NOT_DISRUPT_ANNOTATION } from '../../../../src/api/labels.ts';
import type { NodePool } from '../../../../src/api/nodepool.ts';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { Rest, type SearchPace } from '../../../../src/controllers/disruption/rest.ts';
import type { RunOutcome } from '../../../../src/controllers/disruption/run.ts';
import type { Method } from '../../../../src/engine/disruption/method.ts';
import type { InstanceType, StateNode } from '../../../../src/engine/model.ts';
import { claim, NOW, pod, pool, stateNode } from '../../engine/disruption/objects.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

/** What a pass looks at. A test puts new lists in the place of old ones, as the caches do when something changes. */
interface Seen {
  nodes: readonly StateNode[];
  pods: readonly Pod[];
  pools: readonly NodePool[];
  types: readonly InstanceType[];
  virtualPods: readonly Pod[];
  state: number;
  commitments: object | undefined;
  inProgress: ReadonlySet<string>;
}

let seen: Seen;
let clock: VirtualClock;
beforeEach(() => {
  clock = virtualClock(NOW);
  seen = {
    nodes: [stateNode('a', { pods: [pod('one')] })],
    pods: [pod('one')],
    pools: [pool()],
    types: [],
    virtualPods: [],
    state: 1,
    commitments: undefined,
    inProgress: new Set(),
  };
});

function restOf(pace?: SearchPace, more: readonly Method[] = []): Rest {
  const cluster = {
    nodes: () => seen.nodes,
    stores: { pods: { list: () => seen.pods }, nodePools: { list: () => seen.pools } },
    consolidationState: () => seen.state,
    virtualPods: { list: () => seen.virtualPods },
    manages: () => true,
  };
  const cloud = {
    instanceTypes: async () => seen.types,
    commitments: () => seen.commitments,
  };
  const queue = {
    get providerIds() {
      return seen.inProgress;
    },
  };
  return new Rest({ cluster, clock, cloud } as unknown as Deps, { queue, methods: [QUICK, SEARCH, ...more], pace });
}

const QUICK = { name: 'quick', consolidationType: 'empty' } as unknown as Method;
const SEARCH = { name: 'search', consolidationType: 'single', isSearch: true } as unknown as Method;

const wordFor = (due: readonly Method[]): string =>
  due.length === 0 ? 'nothing' : due.includes(SEARCH) ? 'everything' : 'no searches';

/** A pass of everything that is due. */
async function passes(rest: Rest, hasMore = false) {
  const due = await rest.due();
  const outcome: RunOutcome = hasMore ? 'more to see' : 'nothing';
  if (due.length > 0) rest.passed(new Map(due.map((method) => [method, outcome])), await rest.look());
  return wordFor(due);
}

const annotated = (value: string): StateNode =>
  stateNode('a', { pods: [pod('one', { metadata: { annotations: { [DO_NOT_DISRUPT_ANNOTATION]: value } } })] });
const scheduled = pool('default', {
  consolidateAfter: '0s',
  budgets: [{ nodes: '0', schedule: '0 9 * * *', duration: '8h' }],
});

describe('Rest', () => {
  it('makes no pass again over what the last one saw, for five minutes', async () => {
    const rest = restOf();
    expect(await passes(rest)).toBe('everything');
    expect(await passes(rest)).toBe('nothing');
    await clock.advance(5 * 60_000 - 1);
    expect(await passes(rest)).toBe('nothing');
    await clock.advance(1);
    expect(await passes(rest)).toBe('everything');
    expect(await passes(rest)).toBe('nothing');
  });

  it.each<[string, () => Partial<Seen>]>([
    ['a pod', () => ({ pods: [...seen.pods] })],
    ['a node', () => ({ nodes: [...seen.nodes] })],
    ['a NodePool', () => ({ pools: [...seen.pools] })],
    ['a price', () => ({ types: [] })],
    ['the state of the cluster', () => ({ state: 2 })],
    ['a capacity buffer', () => ({ virtualPods: [] })],
    ['what is committed', () => ({ commitments: {} })],
  ])('makes one again when %s has changed', async (_, change) => {
    const rest = restOf();
    await passes(rest);
    expect(await passes(rest)).toBe('nothing');
    Object.assign(seen, change());
    expect(await passes(rest)).toBe('everything');
    expect(await passes(rest)).toBe('nothing');
  });

  it('makes one again when something changed during the last one', async () => {
    const rest = restOf();
    const before = await rest.look();
    seen.pods = [...seen.pods];
    rest.passed(new Map([QUICK, SEARCH].map((method) => [method, 'nothing'])), before);
    expect(wordFor(await rest.due())).toBe('everything');
  });

  it('makes one each time while the last one has more to see', async () => {
    const rest = restOf();
    for (let time = 0; time < 3; time += 1) expect(await passes(rest, true)).toBe('everything');
  });

  it('makes one each time while nodes are on their way out', async () => {
    seen.inProgress = new Set(['aws:///a']);
    const rest = restOf();
    for (let time = 0; time < 3; time += 1) expect(await passes(rest)).toBe('everything');
    seen.inProgress = new Set();
    await passes(rest);
    expect(await passes(rest)).toBe('nothing');
  });

  it('makes one each time until the nomination of a node is over', async () => {
    seen.nodes = [stateNode('a', { state: { nominatedUntilMs: clock.now() + 20_000 } })];
    const rest = restOf();
    expect([await passes(rest), await passes(rest)]).toEqual(['everything', 'everything']);
    await clock.advance(20_000);
    expect([await passes(rest), await passes(rest)]).toEqual(['everything', 'nothing']);
  });

  it.each([
    ['10m', ['everything', 'everything']],
    ['true', ['everything', 'nothing']],
  ])('when a pod has do-not-disrupt: %s, makes passes: %j', async (value, wanted) => {
    seen.nodes = [annotated(value)];
    const rest = restOf();
    expect([await passes(rest), await passes(rest)]).toEqual(wanted);
  });

  it('makes one each minute while a budget has a schedule', async () => {
    seen.pools = [scheduled];
    const rest = restOf();
    expect([await passes(rest), await passes(rest)]).toEqual(['everything', 'nothing']);
    await clock.advance(59_999);
    expect(await passes(rest)).toBe('nothing');
    await clock.advance(1);
    expect([await passes(rest), await passes(rest)]).toEqual(['everything', 'nothing']);
  });

  describe('with a pace of searches', () => {
    const PACE: SearchPace = (_, nodes) => nodes * 30_000;
    const change = (): void => {
      seen.pods = [...seen.pods];
    };
    const drifted = { type: 'Drifted', status: 'True' };
    const consolidatable = { type: 'Consolidatable', status: 'True' };
    const withConditions = (pods: readonly Pod[], ...conditions: readonly object[]): StateNode =>
      stateNode('b', { pods, claim: claim('b', { status: { conditions } as never }) });

    it('searches no earlier, whatever changes', async () => {
      const rest = restOf(PACE);
      await passes(rest);
      change();
      await clock.advance(29_999);
      expect(await passes(rest)).toBe('nothing');
      await clock.advance(1);
      expect(await passes(rest)).toBe('everything');
    });

    it('keeps a pace for each method', async () => {
      const seldom = { ...SEARCH, name: 'seldom', consolidationType: 'swap' } as Method;
      const rest = restOf(({ consolidationType }) => (consolidationType === 'swap' ? 60_000 : 20_000), [seldom]);
      await passes(rest);
      change();
      await clock.advance(20_000);
      expect(await rest.due()).toEqual([SEARCH]);
      await clock.advance(40_000);
      expect(await rest.due()).toEqual([SEARCH, seldom]);
    });

    it('asks for empty and drifted nodes only while there are any, and takes it that there were none', async () => {
      const drift = { ...SEARCH, name: 'drift', consolidationType: '' } as Method;
      const rest = restOf(PACE, [drift]);
      expect(await rest.due()).toEqual([SEARCH]);
      rest.passed(new Map([[SEARCH, 'nothing']]), await rest.look());
      await clock.advance(60_000);
      expect(await rest.due()).toEqual([]); // it has seen all
      seen.nodes = [...seen.nodes, withConditions([], consolidatable)];
      expect(await rest.due()).toEqual([QUICK, SEARCH, drift]);
    });

    it('keeps the pace of those that it does not ask', async () => {
      const drift = { ...SEARCH, name: 'drift', consolidationType: '' } as Method;
      const rest = restOf(PACE, [drift]);
      await passes(rest);
      seen.nodes = [withConditions([pod('two')], drifted)];
      expect(await rest.due()).toEqual([QUICK]);
    });

    it('searches at once after a search that found something', async () => {
      const rest = restOf(PACE);
      expect([await passes(rest, true), await passes(rest, true)]).toEqual(['everything', 'everything']);
    });

    it.each<[string, () => StateNode, string]>([
      ['is empty and may go', () => withConditions([], consolidatable), 'no searches'],
      ['has drifted', () => withConditions([pod('two')], drifted), 'no searches'],
      ['is empty and may not go yet', () => withConditions([]), 'nothing'],
      ['may go and has pods', () => withConditions([pod('two')], consolidatable), 'nothing'],
    ])('meanwhile, when a node %s', async (_, node, wanted) => {
      const rest = restOf(PACE);
      await passes(rest);
      seen.nodes = [...seen.nodes, node()];
      expect(await passes(rest)).toBe(wanted);
      // it is not taken for a look at everything
      await clock.advance(60_000);
      expect(await passes(rest)).toBe('everything');
    });
  });
});
