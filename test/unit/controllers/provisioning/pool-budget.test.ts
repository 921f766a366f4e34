/** The launch budget of one NodePool on a clock that tests advance. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { NodePool } from '#api/objects';
import { causeKey, type LaunchCause } from '#engine/solve';
import { MOST_ALLOWANCES } from '../../../../src/controllers/provisioning/allowances.ts';
import { launchCondition, restoredCauses } from '../../../../src/controllers/provisioning/launch-condition.ts';
import {
  ABANDONED_MS,
  ALLOWANCE_MS,
  LONGEST_BACK_OFF_MS,
  MOST_CAUSES,
  PoolBudget,
  RESET_MS,
} from '../../../../src/controllers/provisioning/pool-budget.ts';

const MINUTE_MS = 60_000;
const TAINT: LaunchCause = { code: 'taint', taint: { key: 'agent', value: 'a=b', effect: 'NoSchedule' } };
const JOIN: LaunchCause = { code: 'never-joined' };
const IDLE = { suspects: 0, hasTrialSince: () => false };

let nowMs: number;
let budget: PoolBudget;
const clock = { now: () => nowMs };
const fail = (cause: LaunchCause = TAINT, createdMs = nowMs, namespace = 'a') =>
  budget.failed({ cause, text: 'it failed', namespace, createdMs });
const left = (namespace = 'a'): number => budget.shareOf(namespace).unproductive.left;
const state = (cause: LaunchCause = TAINT, underWay = IDLE) => budget.stateOf(cause, underWay);
const pod = (tolerations: readonly { readonly operator: 'Exists' }[] = [], namespace = 'a') =>
  ({
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name: 'a', namespace },
    spec: { containers: [], tolerations },
  }) as const;

beforeEach(() => {
  nowMs = 1_000_000;
  budget = new PoolBudget(clock, () => 0);
});

describe('PoolBudget', () => {
  it('withholds launches after two failures, for twice as long after each further failure, up to an hour', () => {
    expect(fail().isHeld).toBe(false);
    expect(state()).toBe('open');
    const lengths: number[] = [];
    for (let round = 0; round < 5; round += 1) {
      expect(fail().isHeld).toBe(true);
      const startedMs = nowMs;
      while (state() === 'held') nowMs += MINUTE_MS;
      lengths.push((nowMs - startedMs) / MINUTE_MS);
    }
    expect(lengths).toEqual([10, 20, 40, 60, 60]);
  });

  it('adds up to a tenth of jitter', () => {
    budget = new PoolBudget(clock, () => 0.999);
    fail();
    fail();
    nowMs += 10.5 * MINUTE_MS;
    expect(state()).toBe('held');
    nowMs += 0.5 * MINUTE_MS;
    expect(state()).toBe('due');
  });

  it('counts nodes that show the cause but have no result yet', () => {
    expect(state(TAINT, { ...IDLE, suspects: 1 })).toBe('open');
    expect(state(TAINT, { ...IDLE, suspects: 2 })).toBe('held');
    fail();
    expect(state(TAINT, { ...IDLE, suspects: 1 })).toBe('held');
  });

  it('allows one trial at a time after the back-off', () => {
    fail();
    fail();
    nowMs += 10 * MINUTE_MS;
    expect(state()).toBe('due');
    expect(state(TAINT, { suspects: 0, hasTrialSince: () => true })).toBe('held');
    expect(state(TAINT, { suspects: 1, hasTrialSince: () => false })).toBe('held');
  });

  it('does not lengthen the back-off for nodes that were launched before it began', () => {
    const createdMs = nowMs;
    for (let node = 0; node < 100; node += 1) fail(TAINT, createdMs - 1);
    expect(left()).toBe(MOST_ALLOWANCES - 2);
    nowMs += 10 * MINUTE_MS;
    expect(state()).toBe('due');
  });

  it('requires three nodes that never join, because that affects every pod', () => {
    fail(JOIN);
    fail(JOIN);
    expect(state(JOIN)).toBe('open');
    fail(JOIN);
    expect(state(JOIN)).toBe('held');
  });

  it('forgets a cause if a later node serves an affected pod', () => {
    fail();
    fail();
    expect(budget.served(pod([{ operator: 'Exists' }]), nowMs)).toBe(false);
    expect(budget.served(pod(), nowMs - 1)).toBe(false);
    expect(budget.served(pod(), nowMs)).toBe(true);
    expect(state()).toBe('open');
  });

  it('forgets only the causes that affect all pods when a node is initialized', () => {
    fail();
    fail();
    for (let node = 0; node < 3; node += 1) fail(JOIN);
    expect(budget.initialized(nowMs)).toBe(true);
    expect([state(JOIN), state()]).toEqual(['open', 'held']);
  });

  it('forgets all causes after an edit, at most every ten minutes', () => {
    fail();
    fail();
    expect(budget.edited()).toBe(true);
    fail();
    fail();
    nowMs += RESET_MS - 1;
    expect(budget.edited()).toBe(false);
    expect(state()).toBe('held');
    nowMs += 1;
    expect(state()).toBe('open');
  });

  it('forgets a cause without failures for a long time', () => {
    fail();
    nowMs += 2 * LONGEST_BACK_OFF_MS + 1;
    expect(budget.records.size).toBe(0);
  });

  it('spends allowances that are restored one by one, and reserves one for unaffected pods', () => {
    for (let at = 0; at < MOST_ALLOWANCES; at += 1) fail({ code: 'host-port', port: at });
    expect(budget.unprovenAtOnce('a', new Map())).toBe(0);
    expect(budget.shareOf('a').unproductive.atMs(1) - nowMs).toBe(ALLOWANCE_MS);
    nowMs += ALLOWANCE_MS;
    expect(budget.unprovenAtOnce('a', new Map())).toBe(1);
    fail({ code: 'host-port', port: 0 }, nowMs);
    nowMs += ALLOWANCE_MS;
    // The back-off is over, but the only allowance is reserved.
    expect(state({ code: 'host-port', port: 0 })).toBe('held');
    nowMs += ALLOWANCE_MS;
    expect(state({ code: 'host-port', port: 0 })).toBe('due');
  });

  it('limits unaffected pods only if allowances of their namespace are few', () => {
    for (let port = 0; port < 4; port += 1) fail({ code: 'host-port', port });
    expect(budget.unprovenAtOnce('a', new Map())).toBe(Number.POSITIVE_INFINITY);
    expect(budget.unprovenAtOnce('a', new Map([['label team', 2]]))).toBe(2);
    fail({ code: 'host-port', port: 1 });
    expect(budget.unprovenAtOnce('a', new Map())).toBe(3);
    expect(budget.unprovenAtOnce('b', new Map())).toBe(Number.POSITIVE_INFINITY);
  });

  it('does not take the allowances of a namespace for nodes that never join', () => {
    for (let node = 0; node < 3; node += 1) fail(JOIN);
    expect([left('a'), left('')]).toEqual([MOST_ALLOWANCES, MOST_ALLOWANCES - 3]);
  });

  it('holds back only the namespaces in which a cause was found, and all of them from twenty on', () => {
    const namespaces = () => [...(budget.records.get(causeKey(TAINT))?.namespaces ?? ['all'])];
    fail();
    fail();
    expect(namespaces()).toEqual(['a']);
    expect(budget.served(pod([], 'b'), nowMs)).toBe(false);
    fail(TAINT, nowMs, 'b');
    expect(namespaces()).toEqual(['a', 'b']);
    fail(TAINT, nowMs, 'c');
    expect(namespaces()).toEqual(['a', 'b', 'c']);
    for (let at = 0; at < 17; at += 1) fail(TAINT, nowMs, `further-${at}`);
    expect(namespaces()).toEqual(['all']);
    expect(budget.served(pod([], 'd'), nowMs)).toBe(true);
  });

  it('limits a namespace whose pods are deleted before their nodes join, and only this namespace', () => {
    const { abandoned } = budget.shareOf('a');
    for (let launch = 0; launch < 20; launch += 1) budget.abandoned('a');
    expect(abandoned.atOnce()).toBe(0);
    nowMs += ABANDONED_MS;
    expect(abandoned.atOnce()).toBe(1);
    expect(budget.shareOf('b').abandoned.atOnce()).toBe(Number.POSITIVE_INFINITY);
    expect(left()).toBe(MOST_ALLOWANCES);
  });

  it('reports a namespace whose launches wait because pods were deleted, until allowances are back', () => {
    for (let launch = 0; launch < 5; launch += 1) budget.abandoned('a');
    expect(budget.abandonments()).toEqual([]);
    budget.waits('a');
    budget.waits('b');
    expect(budget.abandonments()).toMatchObject([{ namespace: 'a', nodes: 5 }]);
    const condition = launchCondition(clock, [], budget.abandonments());
    expect(condition).toMatchObject({ status: 'False', reason: 'PodsDeleted' });
    expect(condition.message).toContain('5 nodes were launched for pods of namespace a that were deleted');
    expect(restoredCauses(clock, { metadata: {}, status: { conditions: [condition] } } as unknown as NodePool)).toEqual(
      [],
    );
    nowMs += 2 * ABANDONED_MS;
    expect(budget.abandonments()).toEqual([]);
  });

  it('lets a namespace abandon as many launches as it used', () => {
    for (let launch = 0; launch < 100; launch += 1) budget.used('a');
    for (let launch = 0; launch < 100; launch += 1) budget.abandoned('a');
    expect(budget.shareOf('a').abandoned.atOnce()).toBe(Number.POSITIVE_INFINITY);
    for (let launch = 0; launch < 100; launch += 1) budget.used('a');
    nowMs += 200 * ABANDONED_MS;
    expect(budget.shareOf('a').abandoned.left).toBe(MOST_ALLOWANCES);
  });

  it('stores a limited number of causes and returns the forgotten cause', () => {
    for (let port = 0; port < MOST_CAUSES; port += 1)
      expect(fail({ code: 'host-port', port }).forgotten).toBeUndefined();
    expect(fail().forgotten?.cause).toEqual({ code: 'host-port', port: 0 });
    expect(budget.records.size).toBe(MOST_CAUSES);
  });

  it('widens the range of a missing resource', () => {
    fail({ code: 'resource', resource: 'cpu', over: 900, upTo: 2000 });
    fail({ code: 'resource', resource: 'cpu', over: 950, upTo: 4000 });
    expect([...budget.records.values()].map(({ cause }) => cause)).toEqual([
      { code: 'resource', resource: 'cpu', over: 900, upTo: 4000 },
    ]);
  });
});

describe('the condition LaunchesProductive', () => {
  const CAUSES: readonly LaunchCause[] = [
    TAINT,
    JOIN,
    {
      code: 'label',
      labels: new Map([
        ['team', undefined],
        ['zone', 'a'],
      ]),
    },
    { code: 'resource', resource: 'nvidia.com/gpu', over: 0, upTo: 2 },
    { code: 'host-port', port: 80 },
    { code: 'volume', likeness: 'a+b/c=' },
    { code: 'not-used', likeness: 'a+b/c=' },
    { code: 'terminated', by: 'a client of the API server' },
  ];
  const poolWith = (condition: object, generation = 1) =>
    ({
      metadata: { generation },
      status: { conditions: [{ observedGeneration: 1, ...condition }] },
    }) as unknown as NodePool;

  it.each(CAUSES)('persists the back-off of cause $code across a restart', (cause) => {
    for (let node = 0; node < 3; node += 1) fail(cause);
    const [record] = budget.records.values();
    if (record === undefined) throw new Error('there is no record');
    const condition = launchCondition(clock, [{ record, usd: 0.1234, nextMs: record.untilMs }]);
    expect(condition).toMatchObject({ status: 'False', message: expect.stringContaining('it failed [') });
    const restored = restoredCauses(clock, poolWith(condition));
    expect(restored).toMatchObject([{ cause, text: 'it failed', nodes: 3, usd: 0.1234, untilMs: record.untilMs }]);
    const next = new PoolBudget(clock, () => 0);
    next.restore(restored);
    expect(next.stateOf(cause, IDLE)).toBe('held');
    expect([...next.records.keys()]).toEqual([causeKey(cause)]);
    expect(next.records.get(causeKey(cause))?.namespaces).toEqual(record.namespaces);
    expect(next.shareOf('a').unproductive.left).toBe(MOST_ALLOWANCES - 3);
    expect(restoredCauses(clock, poolWith(condition, 2))).toEqual([]);
  });

  it('omits causes that do not fit in the message', () => {
    const labels = new Map(
      Array.from({ length: 500 }, (_, at) => [`${'k'.repeat(200)}/${at}`, 'v'.repeat(63)] as const),
    );
    const short: LaunchCause = { code: 'host-port', port: 80 };
    for (const cause of [{ code: 'label', labels } as const, short])
      for (let node = 0; node < 3; node += 1) fail(cause);
    const reports = [...budget.records.values()].map((record) => ({ record, usd: 0, nextMs: record.untilMs }));
    const { message = '' } = launchCondition(clock, reports);
    expect(message.length).toBeLessThanOrEqual(32_768);
    expect(message).toMatch(/1 longer cause: see \/debug\/launches$/);
    const restored = restoredCauses(clock, poolWith({ type: 'LaunchesProductive', status: 'False', message }));
    expect(restored).toMatchObject([{ cause: short }]);
  });

  it('is True while no launches are withheld', () => {
    fail();
    const [record] = budget.records.values();
    if (record === undefined) throw new Error('there is no record');
    expect(launchCondition(clock, [{ record, usd: 0, nextMs: undefined }])).toEqual({
      type: 'LaunchesProductive',
      status: 'True',
    });
  });

  it.each([
    '',
    'nonsense',
    '[]: 2 nodes, $0.1, next attempt at now',
    'a [taint x]: 2 nodes, $0.1, next attempt at never',
  ])('is ignored after a restart if it cannot be parsed: %j', (message) => {
    expect(restoredCauses(clock, poolWith({ type: 'LaunchesProductive', status: 'False', message }))).toEqual([]);
  });
});

describe('the number of allowances', () => {
  /** Steps of a namespace: pods that want nodes, the share of the nodes that are used, and the seconds until the next step. */
  const steps = fc.array(
    fc.record({
      wanted: fc.integer({ min: 1, max: 40 }),
      used: fc.integer({ min: 0, max: 100 }),
      seconds: fc.integer({ min: 1, max: 90 }),
    }),
    { minLength: 1, maxLength: 60 },
  );

  it('limits abandoned launches by the largest batch, the used launches and the time', () => {
    fc.assert(
      fc.property(steps, (all) => {
        const startMs = nowMs;
        const own = new PoolBudget(clock, () => 0);
        let [abandoned, used, largest] = [0, 0, 0];
        for (const { wanted, used: percent, seconds } of all) {
          const launched = Math.min(wanted, own.shareOf('a').abandoned.atOnce());
          const usedNow = Math.floor((launched * percent) / 100);
          largest = Math.max(largest, launched);
          for (let at = 0; at < launched; at += 1) own[at < usedNow ? 'used' : 'abandoned']('a');
          used += usedNow;
          abandoned += launched - usedNow;
          nowMs += seconds * 1000;
          const returned = (nowMs - startMs) / ABANDONED_MS;
          // a batch is not limited while enough allowances are left
          const batches = 1 + returned / (MOST_ALLOWANCES / 2);
          expect(abandoned).toBeLessThanOrEqual(MOST_ALLOWANCES + returned + used + largest * batches);
        }
        expect(own.shareOf('b').abandoned.atOnce()).toBe(Number.POSITIVE_INFINITY);
      }),
    );
  });
});
