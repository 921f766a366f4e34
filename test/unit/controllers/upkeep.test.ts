import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { DO_NOT_DISRUPT_ANNOTATION, EC2_NODECLASS_LABEL, NODE, NODE_CLAIM, POD } from '#api/objects';
import { ApiError } from '#kube/client';
import { withBoundedConcurrency } from '#lib';
import { concurrency, globalLimit } from '../../../src/controllers/concurrency.ts';
import { OwnWrites } from '../../../src/controllers/own-writes.ts';
import { retryWrites } from '../../../src/controllers/retry.ts';
import { firstFew, snakeCase } from '../../../src/controllers/text.ts';
import { virtualClock } from '../virtualclock.ts';
import { conditionOf, World } from './harness.ts';

describe('a running node', () => {
  let world: World;
  beforeEach(async () => {
    world = new World();
    world.nodePool('default', { disruption: { consolidateAfter: 'Never' } });
    world.start();
    await world.pass(2);
    world.pending(2);
    await world.pass(15);
  });
  afterEach(() => world.kill());

  const ref = () => world.claims[0]?.metadata ?? { name: '' };

  it('has the time of its last pod event on its claim, updated at most every ten seconds', async () => {
    const first = world.claims[0]?.status?.lastPodEventTime;
    expect(first).toBeDefined();
    const noted = (): number => world.kube.writes.filter((write) => write === 'patch-status nodeclaims').length;
    await world.pass(20);
    const before = noted();
    world.pending(1, '100m');
    await world.pass(2);
    world.pending(1, '100m');
    await world.pass(2);
    expect(noted()).toBe(before + 1);
    expect(Date.parse(world.claims[0]?.status?.lastPodEventTime ?? '')).toBeGreaterThan(Date.parse(first ?? ''));
  });

  it('matches its instance type, or its claim reports the missing resources', async () => {
    await world.pass(10 * 60);
    expect(conditionOf(world.claims[0], 'ConsistentStateFound')).toBe('True/ConsistentStateFound');
    world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { status: { capacity: { cpu: '1' } } }, 'status');
    await world.pass(11 * 60);
    expect(conditionOf(world.claims[0], 'ConsistentStateFound')).toBe('False/ConsistencyCheckFailed');
    const [told] = world.events.filter(({ reason }) => reason === 'FailedConsistencyCheck');
    expect(told?.message).toBe('expected 4 of resource cpu, but found 1 (25.0% of expected)');
  });

  it('has the label of its NodeClass restored', async () => {
    world.kube.patch(NODE_CLAIM, ref(), { metadata: { labels: { [EC2_NODECLASS_LABEL]: null } } });
    await world.pass(2);
    expect(world.claims[0]?.metadata.labels?.[EC2_NODECLASS_LABEL]).toBe('default');
  });

  it('has pods with events about their do-not-disrupt annotation', async () => {
    const [a, b] = world.pods;
    const annotate = (pod: typeof a, value: string): void => {
      const annotations = { [DO_NOT_DISRUPT_ANNOTATION]: value };
      world.kube.patch(POD, pod?.metadata ?? { name: '' }, { metadata: { annotations } });
    };
    world.kube.patch(
      POD,
      a?.metadata ?? { name: '' },
      { status: { startTime: new Date(world.clock.now()).toISOString() } },
      'status',
    );
    annotate(a, '1m');
    annotate(b, 'false');
    await world.pass(90);
    expect(world.eventReasons()).toContain('DoNotDisruptUntil');
    expect(world.eventReasons()).toContain('DoNotDisruptGracePeriodElapsed');
    const [invalid] = world.events.filter(({ reason }) => reason === 'InvalidDoNotDisruptAnnotation');
    expect(invalid?.message).toMatch(
      /^Invalid karpenter.sh\/do-not-disrupt annotation: .*"false".*, ignoring annotation$/,
    );
  });
});

describe('a claim that was deleted before the informers showed it', () => {
  it('is forgotten after fifteen seconds, so that provisioning continues', async () => {
    const world = new World();
    world.nodePool();
    world.start();
    await world.pass(2);
    const ghost = { apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name: 'ghost', uid: 'g' } };
    world.cluster.track({ ...ghost, spec: { nodeClassRef: { group: '', kind: '', name: '' }, requirements: [] } });
    await world.pass(5);
    expect(world.cluster.synced()).toBe(false);
    await world.pass(30);
    expect(world.cluster.synced()).toBe(true);
    world.kill();
  });
});

describe('OwnWrites', () => {
  const object = (resourceVersion: string, uid = 'u', deletionTimestamp?: string) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'a', uid, resourceVersion, ...(deletionTimestamp && { deletionTimestamp }) },
  });

  it('is behind until the cache contains the written version or a later one', () => {
    const writes = new OwnWrites();
    expect(writes.isBehind(object('9'))).toBe(false);
    writes.wrote(object('10'));
    expect(['9', '10', '11'].map((version) => writes.isBehind(object(version)))).toEqual([true, false, false]);
    expect(writes.isBehind(object('9', 'successor'))).toBe(false);
  });

  it('is behind until the cache contains the deletion', () => {
    const writes = new OwnWrites();
    writes.deleted(object('10'));
    expect(writes.isBehind(object('11'))).toBe(true);
    expect(writes.isBehind(object('12', 'u', '2026-01-01T00:00:00Z'))).toBe(false);
    expect(writes.isBehind(object('12', 'successor'))).toBe(false);
    writes.forget('a');
    expect(writes.isBehind(object('11'))).toBe(false);
  });
});

describe('withBoundedConcurrency', () => {
  it('limits concurrency, processes all items, and rethrows an error', async () => {
    let atWork = 0;
    let most = 0;
    const seen: number[] = [];
    const run = withBoundedConcurrency([1, 2, 3, 4, 5], 2, async (item) => {
      atWork += 1;
      most = Math.max(most, atWork);
      await Promise.resolve();
      atWork -= 1;
      seen.push(item);
      if (item % 2 === 0) throw new Error(`even ${item}`);
    });
    await expect(run).rejects.toThrow('even 2; even 4');
    expect(seen).toEqual([1, 2, 3, 4, 5]);
    expect(most).toBe(2);
  });
});

describe('retried', () => {
  const failing = (times: number, error: Error) => {
    let calls = 0;
    const work = async (): Promise<number> => {
      calls += 1;
      if (calls <= times) throw error;
      return calls;
    };
    return { work, calls: () => calls };
  };

  it.each([
    { failures: 3, error: new Error('busy'), calls: 4, succeeds: true },
    { failures: 4, error: new Error('busy'), calls: 4, succeeds: false },
    { failures: 1, error: new ApiError(404, 'NotFound', 'gone'), calls: 1, succeeds: false },
  ])('calls $calls times after $failures failures ($error.message)', async ({ failures, error, calls, succeeds }) => {
    const clock = virtualClock();
    const attempt = failing(failures, error);
    const result = retryWrites({ clock }, attempt.work).then(
      () => true,
      () => false,
    );
    await clock.advance(2000);
    expect(await result).toBe(succeeds);
    expect(attempt.calls()).toBe(calls);
  });
});

describe('concurrency', () => {
  it.each([
    { cpuRequests: 1000, is: 10 },
    { cpuRequests: 1001, is: 26 },
    { cpuRequests: 60_000, is: 1000 },
    { cpuRequests: 200_000, is: 1000 },
  ])('is $is with a CPU request of $cpuRequests millicores', ({ cpuRequests, is }) => {
    expect(concurrency({ cpuRequests }, { min: 10, max: 1000 })).toBe(is);
  });

  it('determines the rate limit over all keys', () => {
    expect(globalLimit({ cpuRequests: 1000 }, { min: 1000, max: 5000 }, 10)).toEqual({ qps: 10, burst: 100 });
    expect(globalLimit({ cpuRequests: 60_000 }, { min: 1000, max: 5000 }, 10)).toEqual({ qps: 50, burst: 500 });
  });
});

describe('text', () => {
  it('truncates lists and formats labels', () => {
    expect(firstFew(['a', 'b'])).toBe('a, b');
    expect(firstFew(['a', 'b', 'c'], 1)).toBe('a and 2 other(s)');
    expect(snakeCase('WhenEmptyOrUnderutilized')).toBe('when_empty_or_underutilized');
  });
});
