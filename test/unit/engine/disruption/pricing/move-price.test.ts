/** Comparison of the savings of a move with its price. */
import { describe, expect, it } from '@jest/globals';
import {
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  EMPTYING_TAINT,
  type NodePool,
  type Pod,
  type Taint,
} from '#api/objects';
import { type Candidate, savingsOf } from '../../../../../src/engine/disruption/command.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import { forecastsOf } from '../../../../../src/engine/disruption/pricing/forecast.ts';
import { withWorth } from '../../../../../src/engine/disruption/pricing/move-price.ts';
import type { Plan, PlannedClaim, StateNode } from '../../../../../src/engine/model.ts';
import { at, claim, instanceType, NOW, pod, pool, stateNode } from '../objects.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GI = 1024 ** 3;

/** On-demand nodes of 2 vCPUs and 8 GiB for $0.1 an hour. The pods use more of their CPU than of their memory. */
const large = instanceType('m.large', 2, 0.1);
const onDemand = {
  ...large,
  offerings: large.offerings.filter(({ usdPerHour }) => usdPerHour === 0.1),
};
const pools = new Map([['default', { nodePool: pool(), instanceTypes: [onDemand] }]]);

interface PodShape {
  readonly owner?: 'ReplicaSet' | 'Job' | undefined;
  readonly cpu?: string;
  readonly ageMs?: number;
  /** Time from the placement of the pod until it was ready. By default, the pod has no conditions. */
  readonly startMs?: number;
}

const ready = (startMs: number, ageMs: number) => ({
  conditions: [
    { type: 'PodScheduled', status: 'True' as const, lastTransitionTime: at(NOW - ageMs) },
    { type: 'Ready', status: 'True' as const, lastTransitionTime: at(NOW - ageMs + startMs) },
  ],
});

const running = (name: string, { owner = 'ReplicaSet', cpu = '100m', ageMs = HOUR, startMs }: PodShape = {}): Pod =>
  pod(name, {
    metadata: { ownerReferences: [{ apiVersion: 'x', kind: owner, name: 'owner', uid: 'owner', controller: true }] },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory: '256Mi' } } }] },
    status: { phase: 'Running', startTime: at(NOW - ageMs), ...(startMs !== undefined && ready(startMs, ageMs)) },
  });

interface Shape {
  readonly pods: readonly Pod[];
  readonly ageMs?: number;
  readonly taints?: readonly Taint[];
  /** Conditions of the NodeClaim besides those that a candidate needs. */
  readonly conditions?: NonNullable<NonNullable<StateNode['nodeClaim']>['status']>['conditions'];
  readonly lastPodEventTime?: string;
  readonly markedForDeletion?: boolean;
  readonly gpus?: number;
}

/** Nodes need half a minute to start. */
const started = (ageMs: number) =>
  ({ type: 'Initialized', status: 'True', lastTransitionTime: at(NOW - (ageMs || 0) + MINUTE / 2) }) as const;

function node(name: string, { pods, ageMs = HOUR, taints = [], conditions = [], ...shape }: Shape): StateNode {
  const { lastPodEventTime, markedForDeletion = false, gpus } = shape;
  const base = stateNode(name);
  const nodeClaim = base.nodeClaim ?? claim(name);
  const metadata = { ...nodeClaim.metadata, creationTimestamp: Number.isNaN(ageMs) ? '' : at(NOW - ageMs) };
  const allocatable = { cpu: 2000, memory: 8 * GI, pods: 58, ...(gpus !== undefined && { 'nvidia.com/gpu': gpus }) };
  const status = {
    ...nodeClaim.status,
    conditions: [...conditions, started(ageMs), ...(nodeClaim.status?.conditions ?? [])],
    ...(lastPodEventTime !== undefined && { lastPodEventTime }),
  };
  const state = { taints, allocatable, markedForDeletion };
  return stateNode(name, { pods, claim: { ...nodeClaim, metadata, status }, state });
}

function candidate(shape: Shape): Candidate {
  const found = candidateOf(node('node-1', shape), {
    nowMs: NOW,
    class: 'graceful',
    inProgress: new Set(),
    pools,
    podDisruptionBudgets: [],
  });
  if (isBlock(found)) throw new Error(found.text);
  return found;
}

interface Question extends Shape {
  readonly savedUsdPerHour?: number;
  readonly replacements?: readonly PlannedClaim[];
  readonly evictionUsd?: number;
  readonly poolAgeMs?: number;
  /** Further nodes of the same move. */
  readonly others?: readonly Shape[];
  /** Nodes that stay. */
  readonly elsewhere?: readonly Shape[];
  readonly nodePool?: NodePool;
  /** Known failures of each Job. */
  readonly failures?: number;
  /** Pods of the move by the name of the node where they should run. */
  readonly placed?: Readonly<Record<string, readonly string[]>>;
}

function decision({ savedUsdPerHour, replacements = [], evictionUsd = 0.002, poolAgeMs, ...shape }: Question) {
  const { nodePool = pool(), others = [], failures = 0 } = shape;
  const candidates = [shape, ...others].map((each) => ({ ...candidate(each), nodePool }));
  const nodes = [
    node('node-1', { ...shape, ageMs: poolAgeMs ?? shape.ageMs ?? HOUR }),
    ...(shape.elsewhere ?? []).map((each, at) => node(`other-${at}`, each)),
  ];
  const forecasts = forecastsOf(nodes, pools, { nowMs: NOW, evictionUsd, failuresOf: () => failures });
  const placements = Object.entries(shape.placed ?? {}).map(([name, pods]) => ({
    node: name,
    providerId: name,
    pods: pods.map((each) => `default/${each}`),
  }));
  const plan = { placements } as Partial<Plan> as Plan;
  const move = { candidates, replacements, plan };
  const lostUsdPerHour = savedUsdPerHour === undefined ? 0 : savingsOf(move) - savedUsdPerHour;
  return withWorth({ ...move, lostUsdPerHour }, { nowMs: NOW, forecasts });
}

/** Returns the reason why the move does not pay, or undefined if it pays. */
function verdict(question: Question) {
  const found = decision(question);
  return 'code' in found ? found : undefined;
}

function worth(question: Question) {
  const found = decision(question);
  if ('code' in found || found.worth === undefined) throw new Error('the move does not pay');
  return found.worth;
}

const marked = (agoMs: number): readonly Taint[] => [{ ...EMPTYING_TAINT, timeAdded: at(NOW - agoMs) }];

describe('a move', () => {
  it('pays if the saving lasts for long enough', () => {
    const job = (ageMs: number) => running('a', { owner: 'Job', ageMs });
    expect(verdict({ pods: [job(HOUR)] })).toBeUndefined();
    expect(verdict({ pods: [job(MINUTE)] })?.code).toBe('not-worth-moving');
  });

  it('has a reason with the calculation', () => {
    // the node costs $0.1 an hour for 90 minutes; half a minute of a fifth of the node, and 45 minutes of it besides $0.14
    const pods = [running('a', { cpu: '400m' })];
    expect(verdict({ pods, ageMs: 30 * MINUTE, evictionUsd: 0.14 })).toEqual({
      code: 'not-worth-moving',
      text: 'saves $0.1000/h for an expected 90 min = $0.1500; moving 1 pod costs $0.1552 (evictions $0.1550, start $0.0002)',
    });
  });

  it('loses the work of Jobs, and counts it twice', () => {
    const job = { owner: 'Job', cpu: '1200m', ageMs: HOUR } as const;
    // 60 % of the node for two hours: $0.12; the saving of $0.1 an hour lasts for an hour
    expect(verdict({ pods: [running('a', job)] })?.text).toMatch(
      /= \$0\.1000; moving 1 pod costs \$0\.1225 \(evictions \$0\.0020, lost work \$0\.1200, start \$0\.0005\)/,
    );
    expect(verdict({ pods: [running('a', { ...job, owner: 'ReplicaSet' })] })).toBeUndefined();
  });

  it('loses the work of all running pods of a Job that it would end', () => {
    const ofJob = (name: string, change: Partial<Pod['metadata'] & Pod['status']> = {}): Pod => {
      const { metadata, status, ...rest } = running(name, { owner: 'Job', cpu: '1400m', ageMs: 2 * HOUR });
      return { ...rest, metadata: { ...metadata, ...change }, status: { ...status, ...change } };
    };
    const lost = (failures: number, ...others: readonly Pod[]) => {
      const young = ['a', 'b'].map((name) => running(name, { owner: 'Job', ageMs: 0 }));
      const elsewhere = others.map((other) => ({ pods: [other] }));
      return worth({ pods: [...young], savedUsdPerHour: 0, evictionUsd: -1, elsewhere, failures }).endedJobsUsd;
    };
    // a CPU costs $0.05 an hour, and lost work counts twice
    const work = 2 * (2 * 1.4 * 0.05);
    // by default, the seventh failure ends a Job; if there were more failures, its limit is higher
    expect([0, 4, 7, 8].map((failures) => lost(failures, ofJob('c')))).toEqual([0, 0, 0, 0]);
    for (const failures of [5, 6]) expect(lost(failures, ofJob('c'))).toBeCloseTo(work, 10);
    expect(lost(5, ofJob('c'), ofJob('d'))).toBeCloseTo(2 * work, 10);
    const old = running('a', { owner: 'Job', cpu: '1000m', ageMs: HOUR });
    expect(verdict({ pods: [old], failures: 6 })?.text).toContain(
      '(evictions $0.0020, lost work $0.1000, ended Jobs $0.1000, ',
    );
    const [owner] = ofJob('c').metadata.ownerReferences ?? [];
    for (const change of [
      { ownerReferences: [{ ...owner, uid: 'other' }] },
      { ownerReferences: [{ ...owner, kind: 'ReplicaSet' }] },
      { phase: 'Succeeded' },
      { startTime: undefined },
      { deletionTimestamp: at(NOW) },
    ])
      expect(lost(5, ofJob('c', change as Parameters<typeof ofJob>[1]))).toBe(0);
  });

  it('pays the part of a node that Jobs use, for the time that it keeps this node after the Jobs', () => {
    const kept = (
      elsewhere: readonly Pod[],
      { ageMs = 4 * HOUR, placed = ['a'] }: PodShape & { readonly placed?: readonly string[] } = {},
    ) => {
      const pods = [running('a', { ageMs }), running('b', { ageMs })];
      const staying = [{ pods: elsewhere }, { pods: [running('other', { owner: 'Job', ageMs: 0 })] }];
      return worth({ pods, savedUsdPerHour: 9, elsewhere: staying, placed: { 'other-0': placed } }).keptUsd;
    };
    const job = (ageMs: number, cpu = '500m') => running('j', { owner: 'Job', cpu, ageMs });
    const service = running('s', { cpu: '500m' });
    // the savings last for two hours, and the node costs $0.1 an hour
    expect(kept([job(0)])).toBeCloseTo(0.2, 10);
    expect(kept([job(HOUR / 2)])).toBeCloseTo(0.15, 10);
    expect(kept([job(HOUR / 2), job(HOUR)])).toBeCloseTo(0.1, 10);
    expect(kept([job(0), service])).toBeCloseTo(0.1, 10);
    expect(kept([job(0, '1500m'), service])).toBeCloseTo(0.15, 10);
    // services that were just moved should run for an hour
    expect(kept([job(HOUR / 2)], { ageMs: 0 })).toBeCloseTo(0.05, 10);
    for (const none of [kept([job(3 * HOUR)]), kept([service]), kept([]), kept([job(0)], { placed: ['c'] })])
      expect(none).toBe(0);
  });

  it('is declined with the price of the nodes that it keeps', () => {
    const elsewhere = [{ pods: [running('j', { owner: 'Job', cpu: '1900m', ageMs: 0 })] }];
    const question = { pods: [running('a')], elsewhere };
    expect(verdict(question)).toBeUndefined();
    expect(verdict({ ...question, placed: { 'other-0': ['a'] } })?.text).toMatch(
      /^saves \$0\.1000\/h for an expected 120 min = \$0\.2000; .*, nodes kept \$0\.2000\)$/,
    );
  });

  it('counts the pods of a Job that earlier moves will evict as failures', () => {
    const ofJob = (name: string): Pod => running(name, { owner: 'Job', cpu: '1000m', ageMs: HOUR });
    const lost = (...leaving: readonly Pod[]) => {
      const elsewhere = [{ pods: [ofJob('c')] }, { pods: leaving, markedForDeletion: true }];
      return worth({ pods: [ofJob('a')], savedUsdPerHour: 9, failures: 5, elsewhere }).endedJobsUsd;
    };
    const leaving = { ...ofJob('e'), metadata: { ...ofJob('e').metadata, deletionTimestamp: at(NOW) } };
    expect([lost(), lost(leaving)]).toEqual([0, 0]);
    // the work of the pods that stay: $0.05 for each, twice
    expect(lost(ofJob('d'))).toBeCloseTo(0.2, 10);
  });

  it('saves for 120 starts of a node longer than the nodes are old on average', () => {
    const hours = (...ages: readonly number[]) => {
      const elsewhere = ages.map((ageMs) => ({ pods: [], ageMs }));
      return worth({ pods: [running('a', { ageMs: 40 * HOUR })], ageMs: 0, elsewhere }).hours;
    };
    expect(
      [hours(), hours(HOUR), hours(4 * HOUR), hours(HOUR, 2 * HOUR)].map((found) => Number(found.toFixed(9))),
    ).toEqual([1, 1.5, 3, 2]);
    // a node of unknown age counts as new
    expect(worth({ pods: [running('a')], poolAgeMs: Number.NaN }).hours).toBe(1);
  });

  it('saves with a replacement no longer than the services of its nodes have had their size', () => {
    const replacement = { pods: ['default/a'], nodePool: 'default', usdPerHour: 0.05 } as unknown as PlannedClaim;
    const hours = ({ owner, replacements = [replacement], ...shape }: PodShape & Partial<Question>) =>
      worth({ pods: [running('a', { owner })], evictionUsd: -1, replacements, ...shape }).hours;
    const scaled = { lastPodEventTime: at(NOW - 30 * MINUTE) };
    expect(hours(scaled)).toBe(1.5);
    expect(hours({ ...scaled, replacements: [] })).toBe(2);
    expect(hours({ ...scaled, owner: 'Job' })).toBe(1);
    // without a change that can be read, the age of the node counts
    for (const lastPodEventTime of [at(NOW - HOUR), 'yesterday']) expect(hours({ lastPodEventTime })).toBe(2);
    // a node with constant changes should be replaced if this saves much
    for (const agoMs of [0, -HOUR]) expect(hours({ lastPodEventTime: at(NOW - agoMs) })).toBe(1);
  });

  it('saves no longer than the pods of Jobs have run, and pods of services an hour longer', () => {
    const hours = (...owners: readonly PodShape['owner'][]): number => {
      const pods = owners.map((owner, at) => running(`${at}`, { owner, ageMs: 15 * MINUTE }));
      return worth({ pods, ageMs: 10 * HOUR, evictionUsd: 0, savedUsdPerHour: 9 }).hours;
    };
    expect([hours('Job'), hours('ReplicaSet'), hours('Job', 'ReplicaSet')]).toEqual([0.25, 1.25, 1.25]);
    const unknown = pod('a', { status: { phase: 'Running' } });
    expect(worth({ pods: [unknown], evictionUsd: -1 }).hours).toBe(0);
  });

  it('saves with a replacement until the first of its nodes is expected to end', () => {
    const others = [{ pods: [running('b', { owner: 'Job', ageMs: 6 * MINUTE })] }];
    const replacement = { pods: ['default/a', 'default/b'], nodePool: 'default', usdPerHour: 0.05 };
    const replacements = [replacement as unknown as PlannedClaim];
    expect(worth({ pods: [running('a')], others, replacements, evictionUsd: -1 }).hours).toBe(0.1);
    expect(worth({ pods: [running('a')], others }).hours).toBe(1.05);
  });

  it('costs more for pods that use the devices of the node', () => {
    const price = (gpus: string): number => {
      const plain = running('a');
      const requests = { cpu: '100m', memory: '256Mi', 'nvidia.com/gpu': gpus };
      const user = { ...plain, spec: { ...plain.spec, containers: [{ name: 'main', resources: { requests } }] } };
      return worth({ pods: [user], evictionUsd: 0, gpus: 4 }).evictionsUsd;
    };
    // a quarter and a half of the node for 45 minutes
    expect([price('1'), price('2')].map((usd) => Number(usd.toFixed(9)))).toEqual([0.01875, 0.0375]);
    expect(price('0')).toBeLessThan(price('1'));
  });

  it('costs the time that other pods of the workload needed to start', () => {
    const price = (...startsMs: readonly number[]) => {
      const seen = startsMs.map((startMs, at) => running(`b${at}`, { startMs }));
      return worth({ pods: [running('a', { cpu: '1000m' })], elsewhere: [{ pods: seen }] }).startUsd;
    };
    // half of the node
    const usdPerMinute = 0.05 / 60;
    expect(price()).toBeCloseTo(usdPerMinute / 2, 10);
    expect(price(2 * MINUTE, 9 * MINUTE, 2 * MINUTE)).toBeCloseTo(2 * usdPerMinute, 10);
    // readiness that changed hours later does not count as a start
    expect(price(5 * HOUR)).toBeCloseTo(10 * usdPerMinute, 10);
  });

  it('costs the time that the nodes of the NodePool needed to start', () => {
    const replacements = [{ pods: ['default/a'], nodePool: 'default', usdPerHour: 0.06 } as unknown as PlannedClaim];
    const price = (startMs: number) => {
      const lastTransitionTime = at(NOW - HOUR + startMs);
      const conditions = [{ type: 'Initialized', status: 'True' as const, lastTransitionTime }];
      return worth({ pods: [running('a')], replacements, conditions }).startUsd;
    };
    // the start of the pod, which was not observed, counts as that of a node
    expect(price(3 * MINUTE) - price(MINUTE)).toBeCloseTo((0.06 + 0.005) * (2 / 60), 10);
  });

  it('counts, for services, the lifetime of new nodes in the starts that were observed', () => {
    const found = (...startsMs: readonly number[]) => {
      const starts = startsMs.map((startMs) => {
        const lastTransitionTime = at(NOW - HOUR + startMs);
        return { pods: [], conditions: [{ type: 'Initialized', status: 'True' as const, lastTransitionTime }] };
      });
      const [own, ...elsewhere] = starts;
      const pods = [running('a', { cpu: '1000m' })];
      const { hours, evictionsUsd } = worth({ ...own, pods, elsewhere, evictionUsd: 0 });
      return [hours, evictionsUsd].map((each) => Number(each.toFixed(9)));
    };
    // half of a node for three quarters of an hour, or of the same number of starts
    expect(found(MINUTE / 2)).toEqual([2, 0.0375]);
    expect(found(MINUTE / 4)).toEqual([1.5, 0.01875]);
    expect(found(2 * MINUTE, MINUTE / 4, MINUTE)).toEqual([3, 0.075]);
    // neither a start in no time nor a change of the condition after hours is a start
    expect(found(0)).toEqual([2, 0.0375]);
    expect(found(0, -MINUTE, MINUTE)).toEqual([3, 0.075]);
    expect(found(HOUR / 2)).toEqual(found(10 * MINUTE));
  });

  it('pays from the start if its replacement halves the price of a node that is half full or a little more', () => {
    const replacement = { pods: ['default/a'], nodePool: 'default', usdPerHour: 0.05 } as unknown as PlannedClaim;
    const scaled = { lastPodEventTime: at(NOW) };
    const halves = (cpu: number) => {
      const pods = [running('a', { cpu: `${cpu}m`, ageMs: 0 })];
      return verdict({ pods, ageMs: 0, evictionUsd: 0, replacements: [replacement], ...scaled });
    };
    expect(halves(960)).toBeUndefined();
    expect(halves(1_400)?.code).toBe('not-worth-moving');
  });

  it('costs more the more pods are evicted', () => {
    const pods = ['a', 'b', 'c', 'd'].map((name) => running(name));
    expect(verdict({ pods })).toBeUndefined();
    expect(verdict({ pods, evictionUsd: 0.05 })?.text).toContain('moving 4 pods costs $0.2152 (evictions $0.2150, ');
  });

  it('needs twice the benefit if a NodePool has the policy Balanced', () => {
    const balanced = pool('default', { consolidateAfter: '0s', consolidationPolicy: 'Balanced' });
    const of = (evictionUsd: number) => verdict({ pods: [running('a')], evictionUsd, nodePool: balanced });
    expect(of(0.09)).toBeUndefined();
    expect(of(0.115)?.text).toMatch(
      / = \$0\.2000; moving 1 pod costs \$0\.1188 .*; the policy Balanced needs \$0\.2376$/,
    );
    expect(verdict({ pods: [running('a')], evictionUsd: 0.115 })).toBeUndefined();
  });

  it('is compared with its price however long the node has been marked', () => {
    const question = { pods: [running('a')], ageMs: 30 * MINUTE, evictionUsd: 1 };
    expect(verdict({ ...question, taints: marked(20 * MINUTE) })?.nearestMiss).toBe(
      'emptying since 20 min, because its pods fit elsewhere',
    );
    const [pod] = question.pods;
    const annotations = { [DELETION_COST_ANNOTATION]: '-1', [DELETION_COST_SINCE_ANNOTATION]: at(NOW) };
    const first = { ...running('a'), metadata: { ...pod?.metadata, name: 'a', annotations } };
    expect(verdict({ ...question, pods: [first, running('b')], taints: marked(4 * MINUTE) })?.nearestMiss).toBe(
      'emptying since 4 min, because its pods fit elsewhere, and scale-downs delete 1 of its pods first',
    );
  });

  it('is not compared if the price of the node is unknown', () => {
    const found = { ...candidate({ pods: [running('a')] }), usdPerHour: 0 };
    const forecasts = forecastsOf([node('node-1', { pods: [running('a')] })], pools, { nowMs: NOW, evictionUsd: 1 });
    expect(withWorth({ candidates: [found], replacements: [] }, { nowMs: NOW, forecasts })).not.toHaveProperty('code');
  });

  it('is not compared without steering', () => {
    const command = { candidates: [candidate({ pods: [running('a')], ageMs: 0 })], replacements: [] };
    expect(withWorth(command, { nowMs: NOW })).toBe(command);
  });

  it('is not declined if prices are only shown', () => {
    const shape = { pods: [running('a', { owner: 'Job', ageMs: 0 })], ageMs: 0 };
    const forecasts = forecastsOf([node('node-1', shape)], pools, { nowMs: NOW, evictionUsd: 1 });
    const move = { candidates: [candidate(shape)], replacements: [] };
    const shown = withWorth(move, { nowMs: NOW, forecasts, showsPrices: true });
    expect(shown).toMatchObject({ worth: { benefitUsd: 0, evictionsUsd: 1, pods: 1 } });
  });

  it('can be compared although a pod of the NodePool is not valid', () => {
    expect(verdict({ pods: [running('a'), running('b', { cpu: 'much' })] })).toBeUndefined();
  });
});
