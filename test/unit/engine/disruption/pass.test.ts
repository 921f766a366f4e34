/** Cached evaluations must not change results: a known cluster is evaluated like an unknown one. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  DISRUPTED_TAINT,
  DO_NOT_DISRUPT_ANNOTATION,
  type NodePool,
  type Pod,
  type PodDisruptionBudget,
} from '#api/objects';
import { claimCounts } from '../../../../src/engine/disruption/candidates/claim-counts.ts';
import type { Candidate } from '../../../../src/engine/disruption/command.ts';
import { type PassInput, prepare } from '../../../../src/engine/disruption/pass.ts';
import { methodsOf } from '../../../../src/engine/disruption/review.ts';
import type { InstanceType, PoolInput, StateNode } from '../../../../src/engine/model.ts';
import { present } from '../../../support/present.ts';
import { at, budget, claim, instanceType, NOW, pod, pool, stateNode } from './objects.ts';

const METHODS = methodsOf('thorough');
const MINUTE = 60_000;
const POOLS = ['default', 'other'];

/** Cluster as caches return it: changed objects are replaced, unchanged objects keep their identity. */
interface Seen {
  readonly nowMs: number;
  readonly nodes: readonly StateNode[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly pools: ReadonlyMap<string, PoolInput>;
  readonly inProgress: ReadonlySet<string>;
}

const changed = <T>(list: readonly T[], position: number, value: (before: T) => T): readonly T[] =>
  list.map((each, index) => (index === position ? value(each) : each));

const replacedNode = (seen: Seen, position: number, change: (before: StateNode) => Partial<StateNode>): Seen => ({
  ...seen,
  nodes: changed(seen.nodes, position % seen.nodes.length, (before) => ({ ...before, ...change(before) })),
});

const replacedPod = (seen: Seen, position: number, change: (before: Pod) => Partial<Pod>): Seen =>
  replacedNode(seen, position, ({ pods }) => ({
    pods: changed(pods, Math.floor(position / seen.nodes.length) % pods.length, (before) => ({
      ...before,
      ...change(before),
    })),
  }));

const replacedBudget = (
  seen: Seen,
  position: number,
  change: (before: PodDisruptionBudget) => Partial<PodDisruptionBudget>,
): Seen => ({
  ...seen,
  budgets: changed(seen.budgets, position % Math.max(1, seen.budgets.length), (before) => ({
    ...before,
    ...change(before),
  })),
});

function replacedPool(seen: Seen, position: number, change: (before: PoolInput) => Partial<PoolInput>): Seen {
  const name = POOLS[position % POOLS.length] ?? '';
  const before = seen.pools.get(name);
  if (before === undefined) return seen;
  return { ...seen, pools: new Map([...seen.pools, [name, { ...before, ...change(before) }]]) };
}

const types = (usdPerHour: number): readonly InstanceType[] => [
  instanceType('m.large', 2, usdPerHour),
  instanceType('m.xlarge', 4, 2 * usdPerHour),
];

const poolWith = (name: string, disruption: Partial<NonNullable<NodePool['spec']['disruption']>>): NodePool =>
  pool(name, { consolidateAfter: '0s', ...disruption });

/** Changes to each input of a verdict. */
const CHANGES: Readonly<Record<string, (seen: Seen, position: number) => Seen>> = {
  'time passes': (seen, position) => ({ ...seen, nowMs: seen.nowMs + (position + 1) * MINUTE }),
  'the clock is set back': (seen) => ({ ...seen, nowMs: seen.nowMs - 5 * MINUTE }),
  'a node is nominated': (seen, position) =>
    replacedNode(seen, position, () => ({ nominatedUntilMs: seen.nowMs + 2 * MINUTE })),
  'a node is marked': (seen, position) =>
    replacedNode(seen, position, ({ markedForDeletion }) => ({ markedForDeletion: !markedForDeletion })),
  'a node is protected': (seen, position) =>
    replacedNode(seen, position, () => ({ annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } })),
  'a node is not ready': (seen, position) =>
    replacedNode(seen, position, ({ name }) => ({ node: present(stateNode(name, { ready: false }).node) })),
  'a claim drifts': (seen, position) =>
    replacedNode(seen, position, ({ name, nodeClaim }) => ({
      nodeClaim: claim(name, {
        status: {
          ...nodeClaim?.status,
          conditions: [...(nodeClaim?.status?.conditions ?? []), { type: 'Drifted', status: 'True' }],
        },
      }),
    })),
  'a claim may be drained by force': (seen, position) =>
    replacedNode(seen, position, ({ name, nodeClaim }) => ({
      nodeClaim: claim(name, { spec: { terminationGracePeriod: '1h' }, status: nodeClaim?.status ?? {} }),
    })),
  'a pod is protected for a time': (seen, position) =>
    replacedPod(seen, position, ({ metadata }) => ({
      metadata: { ...metadata, annotations: { [DO_NOT_DISRUPT_ANNOTATION]: '3m' } },
      status: { phase: 'Running', startTime: at(seen.nowMs) },
    })),
  'a pod is protected': (seen, position) =>
    replacedPod(seen, position, ({ metadata }) => ({
      metadata: { ...metadata, annotations: { [DO_NOT_DISRUPT_ANNOTATION]: 'true' } },
    })),
  'a pod is as at first': (seen, position) => replacedPod(seen, position, ({ metadata: { name } }) => podNamed(name)),
  'a pod ends': (seen, position) => replacedPod(seen, position, () => ({ status: { phase: 'Succeeded' } })),
  'a pod is unhealthy': (seen, position) =>
    replacedPod(seen, position, () => ({
      status: { phase: 'Running', conditions: [{ type: 'Ready', status: 'False' }] },
    })),
  'a pod has other labels': (seen, position) =>
    replacedPod(seen, position, ({ metadata }) => ({
      metadata: { ...metadata, labels: { app: `app-${position % 3}` } },
    })),
  'a pod stays with its node': (seen, position) =>
    replacedPod(seen, position, ({ spec }) => ({
      spec: { ...spec, tolerations: [{ key: DISRUPTED_TAINT.key, operator: 'Exists' }] },
    })),
  'a pod is dearer to move': (seen, position) =>
    replacedPod(seen, position, ({ spec }) => ({ spec: { ...spec, priority: 2 ** 24 } })),
  'a budget allows another number': (seen, position) =>
    replacedBudget(seen, position, () => ({ status: { disruptionsAllowed: position % 2, currentHealthy: position } })),
  'a budget spares unhealthy pods': (seen, position) =>
    replacedBudget(seen, position, ({ spec }) => ({ spec: { ...spec, unhealthyPodEvictionPolicy: 'AlwaysAllow' } })),
  'a budget selects others': (seen, position) =>
    replacedBudget(seen, position, ({ spec }) => ({
      spec: { ...spec, selector: { matchLabels: { app: `app-${position % 3}` } } },
    })),
  'a budget cannot be read': (seen, position) =>
    replacedBudget(seen, position, ({ spec }) => ({ spec: { ...spec, maxUnavailable: 'abc%' } })),
  'a budget comes': (seen, position) => ({
    ...seen,
    budgets: [
      budget(`${position}`, { selector: { matchLabels: { app: `app-${position % 3}` } } }, position % 2),
      ...seen.budgets,
    ],
  }),
  'a budget goes': (seen) => ({ ...seen, budgets: seen.budgets.slice(1) }),
  'prices change': (seen, position) =>
    replacedPool(seen, position, () => ({ instanceTypes: types(0.1 + position / 100) })),
  'a type is no longer offered': (seen, position) =>
    replacedPool(seen, position, ({ instanceTypes }) => ({ instanceTypes: instanceTypes.slice(1) })),
  'a fee changes': (seen, position) =>
    replacedPool(seen, position, () => ({
      extras: { feeUsdPerHour: position / 100, volumesUsdPerHour: 0, publicIpv4UsdPerHour: 0 },
    })),
  'a NodePool has another policy': (seen, position) =>
    replacedPool(seen, position, ({ nodePool: { metadata } }) => ({
      nodePool: poolWith(metadata.name, { consolidationPolicy: position % 4 < 2 ? 'WhenEmpty' : 'Balanced' }),
    })),
  'a NodePool has another budget': (seen, position) =>
    replacedPool(seen, position, ({ nodePool: { metadata } }) => ({
      nodePool: poolWith(metadata.name, { budgets: [{ nodes: `${position % 3}` }] }),
    })),
  'a NodePool goes': (seen, position) => ({
    ...seen,
    pools: new Map([...seen.pools].filter(([name]) => name !== POOLS[position % POOLS.length])),
  }),
  'a command takes a node': (seen, position) => ({
    ...seen,
    inProgress: new Set([`aws:///${position % seen.nodes.length}`]),
  }),
};

const podNamed = (name: string): Pod => pod(name, { metadata: { labels: { app: `app-${name.at(-1)}` } } });

/**
 * Two nodes that can be disrupted, one blocked by a budget, one nominated, and one with a temporarily protected pod.
 */
const nodesAtFirst = (): readonly StateNode[] => {
  const node = (name: string, type: string, pods: readonly string[]): StateNode =>
    stateNode(name, { pool: name === '1' ? 'other' : 'default', type, pods: pods.map(podNamed) });
  const timed = podNamed('timed-0');
  return [
    node('0', 'm.large', ['web-0-0']),
    node('1', 'm.xlarge', ['web-1-0', 'web-1-1']),
    node('2', 'm.xlarge', ['web-2-1', 'web-2-2', 'web-2-2-2']),
    { ...node('3', 'm.large', ['web-3-0']), nominatedUntilMs: NOW + 3 * MINUTE },
    {
      ...node('4', 'm.large', []),
      pods: [
        {
          ...timed,
          metadata: { ...timed.metadata, annotations: { [DO_NOT_DISRUPT_ANNOTATION]: '5m' } },
          status: { phase: 'Running', startTime: at(NOW) },
        },
      ],
    },
  ];
};

const atFirst = (): Seen => ({
  nowMs: NOW,
  nodes: nodesAtFirst(),
  budgets: [budget('first', { selector: { matchLabels: { app: 'app-2' } } }, 0)],
  pools: new Map(POOLS.map((name) => [name, { nodePool: poolWith(name, {}), instanceTypes: types(0.1) }])),
  inProgress: new Set(),
});

const passOn = (seen: Seen, surveys: PassInput['surveys'] = new Map()): PassInput => ({
  nowMs: seen.nowMs,
  nodes: seen.nodes,
  podDisruptionBudgets: seen.budgets,
  nodePools: [...seen.pools.values()].map(({ nodePool }) => nodePool),
  pools: seen.pools,
  inProgress: seen.inProgress,
  claims: claimCounts(seen.nodes, seen.inProgress),
  spotToSpot: false,
  consolidation: 'thorough',
  unseenPools: new Set(),
  simulate: async () => undefined,
  elapsedMs: () => 0,
  surveys,
});

const shown = ({ stateNode: _, ...candidate }: Candidate): object => candidate;

/** Results of a preparation in comparable form. */
const told = ({ blocks, declined, candidates, allowances, input }: Awaited<ReturnType<typeof prepare>>): object => ({
  blocks,
  declined: [...declined].map(([id, { candidate, ...verdict }]) => [id, shown(candidate), verdict]),
  candidates: candidates.map(shown),
  allowances,
  totals: input.totals,
  budgets: input.budgets,
  claims: input.claims,
});

async function preparations(seen: Seen): Promise<readonly object[]> {
  const all: object[] = [];
  for (const method of METHODS) all.push(told(await prepare(method, passOn(seen))));
  return all;
}

const names = Object.keys(CHANGES);
const courses = fc.array(fc.tuple(fc.constantFrom(...names), fc.nat(30)), { minLength: 1, maxLength: 12 });

describe('a pass over a cluster that an earlier pass has evaluated', () => {
  it.each(names)('returns the results of a first evaluation if %s', async (name) => {
    for (const position of [0, 1, 2, 3, 5, 7]) {
      const before = atFirst();
      await preparations(before);
      const after = CHANGES[name]?.(before, position) ?? before;
      expect(await preparations(after)).toEqual(await preparations(structuredClone(after)));
    }
  });

  it('returns the results of a first evaluation after any changes', async () => {
    await fc.assert(
      fc.asyncProperty(courses, async (course) => {
        let seen = atFirst();
        for (const [name, position] of course) {
          await preparations(seen);
          seen = CHANGES[name]?.(seen, position) ?? seen;
        }
        expect(await preparations(seen)).toEqual(await preparations(structuredClone(seen)));
      }),
      { numRuns: 60, seed: 20_260_101, endOnFailure: true },
    );
  });

  it('returns identical candidates if no input changed', async () => {
    const seen = atFirst();
    const candidatesOf = async (input: Seen): Promise<readonly Candidate[]> => {
      const [, , , , single] = METHODS;
      if (single === undefined) throw new Error('there is no single-node consolidation');
      return (await prepare(single, passOn(input))).candidates;
    };
    const before = await candidatesOf(seen);
    expect(before.length).toBeGreaterThan(1);
    const later = { ...seen, nowMs: seen.nowMs + MINUTE, nodes: [...seen.nodes], budgets: [...seen.budgets] };
    for (const [at, candidate] of (await candidatesOf(later)).entries()) expect(candidate).toBe(before[at]);
  });

  it('shares evaluations between methods of a pass', async () => {
    const [emptiness, , drift, multiNode] = METHODS.map((method) => async (surveys: PassInput['surveys']) => {
      const { blocks } = await prepare(method, passOn(seen, surveys));
      return blocks;
    });
    const seen = atFirst();
    const surveys: PassInput['surveys'] = new Map();
    const blocks = await emptiness?.(surveys);
    expect(await multiNode?.(surveys)).toBe(blocks);
    expect(await drift?.(surveys)).not.toBe(blocks);
    expect(await multiNode?.(new Map())).not.toBe(blocks);
  });
});
