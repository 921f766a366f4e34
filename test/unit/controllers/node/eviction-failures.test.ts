/** Evictions that are refused, duplicated or late. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, POD, type Pod, TERMINATION_TIMESTAMP_ANNOTATION } from '#api/objects';
import { canEndSooner } from '#engine/drain';
import { ApiError } from '#kube/client';
import { Evictions } from '../../../../src/controllers/node/eviction-queue.ts';
import { virtualClock } from '../../virtualclock.ts';
import { type Bench, bench, claimOf, count, errors, failing, leaving, nodeOf, podOf } from './bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const broken = new ApiError(500, 'InternalError', 'the API server has a bad day');

describe('eviction', () => {
  it('ends for a pod that another client deletes', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'a disruption budget');
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.put(POD, podOf('web', {}, { deletionTimestamp: b.time(10 * MINUTE) }));
    await b.clock.advance(11 * SECOND);
    const requeues = async (): Promise<string | undefined> =>
      /reconcile_total\{controller="eviction-queue",result="requeue"\} (\d+)/.exec(await b.metrics.text())?.[1];
    const before = await requeues();
    await b.clock.advance(MINUTE);
    expect(await requeues()).toBe(before);
  });

  it('retries without an error if a webhook blocks a pod like a budget', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'admission webhook denied the request: being migrated');
    b.put(POD, podOf('vm'));
    leaving(b);
    await b.clock.advance(5 * SECOND);
    expect(b.evictions().length).toBeGreaterThan(2);
    expect(errors(b)).toEqual([]);
    expect(b.events.map(({ message }) => message)).toContain(
      'Failed to drain node, evicting pod violates a PDB (Pod=default/vm)',
    );
  });

  it('is requested again for a new pod with the same name', async () => {
    const b = bench();
    b.world.refuse = () => new ApiError(429, 'TooManyRequests', 'a disruption budget');
    b.put(POD, podOf('db-0'));
    leaving(b);
    await b.clock.advance(2 * SECOND);
    b.gone('db-0');
    b.put(POD, podOf('db-0', {}, { uid: 'successor' }));
    b.world.refuse = () => undefined;
    await b.clock.advance(11 * SECOND);
    expect(count(b, 'evicted db-0')).toBe(1);
    expect(errors(b)).toEqual([]);
  });

  it('is retried after an ambiguous response, which is counted by its code', async () => {
    const b = bench();
    let left = 3;
    b.world.refuse = () => (left-- > 0 ? broken : undefined);
    b.put(POD, podOf('web'));
    leaving(b);
    await b.clock.advance(5 * SECOND);
    expect(count(b, 'evicted web')).toBe(1);
    expect(errors(b)).toEqual(Array(3).fill('ApiError: the API server has a bad day'));
    const text = await b.metrics.text();
    expect(text).toContain('karpenter_pods_eviction_requests_total{code="500"} 3');
    expect(text).toContain('karpenter_pods_eviction_requests_total{code="200"} 1');
    expect(text).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
  });

  it('waits for a do-not-disrupt pod until the deadline', async () => {
    const b = bench();
    const annotations = { 'karpenter.sh/do-not-disrupt': '30s' };
    b.put(POD, { ...podOf('batch', {}, { annotations }), status: { phase: 'Running', startTime: b.time() } });
    leaving(b);
    await b.clock.advance(29 * SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(11 * SECOND);
    expect(b.calls).toEqual(['evicted batch']);
  });

  it('is counted with the reason of a voluntary disruption, or without one if the claim is unknown', async () => {
    const reasonOf = async (more: (b: Bench) => unknown): Promise<string> => {
      const b = bench();
      b.put(POD, podOf('web'));
      more(b);
      b.put(NODE, nodeOf('node', { deletionTimestamp: b.time() }));
      await b.clock.advance(SECOND);
      return /pods_drained_total\{reason="([^"]*)"\} 1/.exec(await b.metrics.text())?.[1] ?? 'not drained';
    };
    const withReason = (status: 'True' | 'False') => (b: Bench) => {
      const claim = claimOf('claim', { deletionTimestamp: b.time() });
      const conditions = [{ type: 'DisruptionReason', status, reason: 'Underutilized' }];
      b.put(NODE_CLAIM, { ...claim, status: { ...claim.status, conditions } });
    };
    expect(await reasonOf(withReason('True'))).toBe('Underutilized');
    expect(await reasonOf(withReason('False'))).toBe('Forceful Termination');
    expect(await reasonOf(() => undefined)).toBe('');
    expect(await reasonOf((b) => ['one', 'two'].map((name) => b.put(NODE_CLAIM, claimOf(name))))).toBe('');
  });
});

describe('a pod after its deadline', () => {
  it('is deleted once and counted once if it does not terminate', async () => {
    const b = bench();
    b.put(POD, podOf('stubborn'));
    leaving(b, b.time(-MINUTE));
    await b.clock.advance(50 * SECOND);
    expect(count(b, 'delete Pod stubborn 1s')).toBe(1);
    expect(await b.metrics.text()).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
    await b.clock.advance(30 * SECOND);
    expect(b.node('node')).toBeUndefined();
  });

  it('gets a shorter grace period if it terminates too late', async () => {
    const b = bench();
    b.put(POD, podOf('slow', { terminationGracePeriodSeconds: 600 }, { deletionTimestamp: b.time(10 * MINUTE) }));
    leaving(b, b.time(60 * SECOND));
    await b.clock.advance(3 * SECOND);
    expect(b.calls).toEqual(['delete Pod slow 60s']);
  });

  it('gets a shorter grace period even if it was evicted before the deadline was set', async () => {
    const b = bench();
    b.put(POD, podOf('slow', { terminationGracePeriodSeconds: 600 }));
    leaving(b);
    await b.clock.advance(10 * SECOND);
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: b.time() };
    b.put(NODE_CLAIM, claimOf('claim', { deletionTimestamp: b.time(), annotations }));
    await b.clock.advance(10 * SECOND);
    expect(b.calls).toEqual(['evicted slow', 'delete Pod slow 1s']);
  });

  it.each([
    { code: 404, reason: 'NotFound' },
    { code: 409, reason: 'Conflict' },
  ])('counts as deleted if the deletion returns $code', async ({ code, reason }) => {
    const b = bench();
    failing(b, 'delete Pod', new ApiError(code, reason, 'whatever'));
    b.put(POD, podOf('web'));
    leaving(b, b.time());
    await b.clock.advance(500);
    expect(errors(b)).toEqual([]);
    expect(await b.metrics.text()).not.toContain('pods_drained_total{');
  });

  it('is deleted again if the first deletion failed', async () => {
    const b = bench();
    failing(b, 'delete Pod', broken, 2);
    b.put(POD, podOf('web'));
    leaving(b, b.time());
    await b.clock.advance(3 * SECOND);
    expect(count(b, 'delete Pod web 1s')).toBe(1);
    expect(await b.metrics.text()).toContain('karpenter_pods_drained_total{reason="Forceful Termination"} 1');
  });

  const NOW = Date.UTC(2026, 0, 1);
  it.each([
    { when: 'it is not ending', endsIn: undefined, deadlineIn: -60, is: true },
    { when: 'it ends after what it would be granted', endsIn: 11, deadlineIn: 10, is: true },
    { when: 'it ends by then', endsIn: 10, deadlineIn: 10, is: false },
    { when: 'the deadline is over and it has a second left', endsIn: 1, deadlineIn: -60, is: false },
    { when: 'the deadline is over and it has longer', endsIn: 2, deadlineIn: -60, is: true },
  ])('can terminate sooner ($is) if $when', ({ endsIn, deadlineIn, is }) => {
    const ending = endsIn === undefined ? {} : { deletionTimestamp: new Date(NOW + endsIn * SECOND).toISOString() };
    expect(canEndSooner(podOf('a', {}, ending), NOW + deadlineIn * SECOND, NOW)).toBe(is);
  });
});

describe('Evictions', () => {
  const key = 'default/web/uid-web';
  it('keeps the earlier deadline, and enqueues a pod once', () => {
    const evictions = new Evictions(virtualClock());
    const told: string[] = [];
    evictions.bind((each) => told.push(each));
    const deadlines: (number | undefined)[] = [];
    for (const deadlineMs of [Number.POSITIVE_INFINITY, 500, 700, Number.POSITIVE_INFINITY]) {
      evictions.add([podOf('web')], deadlineMs);
      deadlines.push(evictions.get(key)?.deadlineMs);
    }
    expect(deadlines).toEqual([Number.POSITIVE_INFINITY, 500, 500, 500]);
    expect(told).toEqual([key]);
    evictions.drop(key);
    evictions.add([podOf('web')], 900);
    expect(evictions.get(key)?.deadlineMs).toBe(900);
    expect(told).toEqual([key, key]);
  });

  it('enqueues a pod again only after the cache contains the new deletion time, or after half a minute', async () => {
    const clock = virtualClock();
    const evictions = new Evictions(clock);
    const told: string[] = [];
    evictions.bind((each) => told.push(each));
    const timesToldOf = (pod: Pod): number => {
      told.length = 0;
      evictions.add([pod], 500);
      evictions.drop(key);
      return told.length;
    };
    const endingAt = (deletionTimestamp: string): Pod => podOf('web', {}, { deletionTimestamp });
    evictions.granted(podOf('web'));
    expect(timesToldOf(podOf('web'))).toBe(0);
    expect(timesToldOf(podOf('other'))).toBe(1);
    expect(timesToldOf(podOf('web', {}, { uid: 'successor' }))).toBe(1);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(1);
    // The earlier deletion time is accepted.
    evictions.granted(endingAt('2026-01-01T00:10:00Z'));
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(0);
    expect(timesToldOf(endingAt('2026-01-01T00:05:00Z'))).toBe(1);
    await clock.advance(29 * SECOND);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(0);
    await clock.advance(SECOND);
    expect(timesToldOf(endingAt('2026-01-01T00:10:00Z'))).toBe(1);
  });
});
