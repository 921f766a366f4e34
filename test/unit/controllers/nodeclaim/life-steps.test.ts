/** Single steps of the life cycle of a NodeClaim. */
import { describe, expect, it } from '@jest/globals';
import { type Condition, NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import type { CloudProvider } from '#cloud';
import type { HookAnswer } from '#cloud/testing';
import type { Ref } from '#kube/client';
import { silent } from '#observe/logger';
import type { Deps } from '../../../../src/controllers/deps.ts';
import { stateGarbageCollection } from '../../../../src/controllers/nodeclaim/garbage-collection.ts';
import { LaunchedInstances } from '../../../../src/controllers/nodeclaim/launch.ts';
import { NodeClaimLifecycle } from '../../../../src/controllers/nodeclaim/lifecycle.ts';
import { askHooks } from '../../../../src/controllers/nodeclaim/registration.ts';
import { shortenMessage } from '../../../../src/controllers/nodeclaim/step.ts';
import { virtualClock } from '../../virtualclock.ts';
import { type Bench, bench, claimOf, condition, nodeOf, settledClaim } from '../node/bench.ts';

const unknownFor = (seconds: number): Pick<Condition, 'status' | 'lastTransitionTime'> => ({
  status: 'Unknown',
  lastTransitionTime: new Date(Date.UTC(2026, 0, 1) - seconds * 1_000).toISOString(),
});

describe('askHooks', () => {
  const waits = (waitMs: number): HookAnswer => ({ done: false, waitMs });
  const ask = (answers: Readonly<Record<string, HookAnswer | Error>>) =>
    askHooks(
      {
        registrationHooks: Object.entries(answers).map(([name, answer]) => ({
          name,
          ask: async () => {
            if (answer instanceof Error) throw answer;
            return answer;
          },
        })),
      } as unknown as CloudProvider,
      claimOf('claim', { labels: { own: 'yes' } }),
    );

  it.each<[string, Readonly<Record<string, HookAnswer | Error>>, object]>([
    ['there are no hooks', {}, { pending: [], waitMs: undefined, error: undefined }],
    ['all hooks are done', { a: { done: true } }, { pending: [], waitMs: undefined, error: undefined }],
    [
      'several hooks wait',
      { b: waits(9), a: waits(5), c: { done: true } },
      { pending: ['b', 'a'], waitMs: 5, error: undefined },
    ],
    [
      'one hook waits and one fails',
      { a: new Error('silence'), b: waits(9) },
      { pending: ['a', 'b'], waitMs: 9, error: { message: 'registration hook "a" failed, silence' } },
    ],
    [
      'several hooks fail',
      { a: new Error('x'), b: new Error('y') },
      {
        pending: ['a', 'b'],
        waitMs: undefined,
        error: { message: 'registration hook "a" failed, x; registration hook "b" failed, y' },
      },
    ],
  ])('returns the result if %s', async (_, answers, is) => {
    expect(await ask(answers)).toMatchObject(is);
  });

  it('adds the labels that hooks return', async () => {
    const { claim } = await ask({ a: { done: true, labels: { partition: '3' } }, b: waits(1) });
    expect(claim.metadata.labels).toEqual({ own: 'yes', partition: '3' });
  });

  it('runs all hooks concurrently', async () => {
    const order: string[] = [];
    const hook = (name: string) => ({
      name,
      ask: async (): Promise<HookAnswer> => {
        order.push(`${name} begins`);
        await Promise.resolve();
        order.push(`${name} ends`);
        return { done: true };
      },
    });
    await askHooks({ registrationHooks: [hook('a'), hook('b')] } as unknown as CloudProvider, claimOf('claim'));
    expect(order).toEqual(['a begins', 'b begins', 'a ends', 'b ends']);
  });
});

describe('LaunchedInstances', () => {
  it('keeps an instance for an hour, or until it is forgotten', async () => {
    const clock = virtualClock();
    const launched = new LaunchedInstances(clock);
    launched.remember(claimOf('a'), claimOf('bought'));
    launched.remember(claimOf('b'), claimOf('bought'));
    await clock.advance(3_600_000);
    expect(launched.get(claimOf('a'))?.metadata.name).toBe('bought');
    expect(launched.get(claimOf('a', { uid: 'successor' }))).toBeUndefined();
    launched.forget(claimOf('b'));
    expect(launched.get(claimOf('b'))).toBeUndefined();
    await clock.advance(1);
    expect(launched.get(claimOf('a'))).toBeUndefined();
  });
});

describe('shortened', () => {
  it.each([
    [300, 'x'.repeat(300)],
    [301, `${'x'.repeat(300)}...`],
  ])('limits a text of %d characters', (length, is) => expect(shortenMessage('x'.repeat(length))).toBe(is));
});

describe('liveness', () => {
  it.each<[string, readonly Condition[], readonly string[]]>([
    [
      'not launched within the limit',
      [condition('Launched', unknownFor(299)), condition('Registered', unknownFor(300))],
      [],
    ],
    [
      'not launched',
      [condition('Launched', unknownFor(300)), condition('Registered', unknownFor(300))],
      ['launch_timeout'],
    ],
    [
      'neither launched nor registered',
      [condition('Launched', unknownFor(900)), condition('Registered', unknownFor(900))],
      ['launch_timeout', 'registration_timeout'],
    ],
    ['not registered within the limit', [condition('Launched'), condition('Registered', unknownFor(899))], []],
    [
      'matched by several Nodes beyond the limit',
      [condition('Launched'), condition('Registered', { ...unknownFor(900), status: 'False' })],
      ['registration_timeout'],
    ],
    ['registered long ago', [condition('Launched'), condition('Registered')], []],
  ])('decides for a claim that is a day old and %s', async (_, conditions, reasons) => {
    const b = bench([], (deps) => [
      new NodeClaimLifecycle({
        ...deps,
        cloud: Object.assign(deps.cloud, {
          create: async () => {
            throw new Error('the cloud is down');
          },
        }),
      }),
    ]);
    b.put(NODE_CLAIM, settledClaim('claim', { conditions }));
    await b.clock.advance(10);
    const counted = (await b.metrics.text()).matchAll(/nodeclaims_disrupted_total\{reason="(\w+)".*\} 1/g);
    expect([...counted].map(([, reason]) => reason)).toEqual(reasons);
    expect(b.calls.filter((call) => call.startsWith('delete'))).toHaveLength(reasons.length);
  });
});

describe('the termination of a claim', () => {
  const ending = (more: Partial<NodeClaim['metadata']> = {}): NodeClaim => {
    const claim = settledClaim('claim');
    return { ...claim, metadata: { ...claim.metadata, deletionTimestamp: '2026-01-01T00:00:00Z', ...more } };
  };
  const start = (): Bench => bench([], (deps) => [new NodeClaimLifecycle(deps)]);

  it("is ignored after Karpenter's finalizer was removed", async () => {
    const b = start();
    b.put(NODE_CLAIM, ending({ finalizers: ['example.com/other'] }));
    b.put(NODE, nodeOf('node'));
    await b.clock.advance(1_000);
    expect(b.calls).toEqual([]);
    expect(b.writesTo('NodeClaim')).toBe(0);
  });

  it('deletes the Nodes that are not being deleted yet, and waits for all of them', async () => {
    const b = start();
    b.put(NODE, nodeOf('going', { deletionTimestamp: b.time() }));
    b.put(NODE, nodeOf('staying'));
    b.put(NODE_CLAIM, ending());
    await b.clock.advance(60_000);
    expect(b.calls).toEqual(['delete Node staying']);
  });

  it('checks the instance every five seconds until it is gone', async () => {
    const b = start();
    b.world.instance.stubborn = 3;
    b.put(NODE_CLAIM, ending());
    const asked: number[] = [];
    for (const seconds of [1, 3.5, 1, 4, 1]) {
      await b.clock.advance(seconds * 1_000);
      asked.push(b.calls.length);
    }
    // The second call follows the change of the condition.
    expect(asked).toEqual([2, 2, 3, 3, 4]);
    expect(b.claim('claim')).toBeUndefined();
    const text = await b.metrics.text();
    expect(text).toContain('karpenter_nodeclaims_instance_termination_duration_seconds_sum{nodepool="default"} 10');
    expect(text).toContain('karpenter_nodeclaims_termination_duration_seconds_sum{nodepool="default"} 10');
  });
});

describe('state.nodeclaimgc', () => {
  it('removes claims that were tracked for 15 seconds and do not exist', async () => {
    const forgotten: string[] = [];
    const cluster = {
      trackedLongerThan: (ms: number) => [`${ms}`, 'there'],
      untrack: (name: string) => forgotten.push(name),
    };
    const client = { find: async (_: unknown, { name }: Ref) => (name === 'there' ? claimOf(name) : undefined) };
    const controller = stateGarbageCollection({ client, cluster } as unknown as Deps);
    await controller.reconcile({ log: silent, signal: new AbortController().signal });
    expect(forgotten).toEqual(['15000']);
  });
});

describe('initialization', () => {
  it.each([
    { requests: { cpu: '1' }, is: 'True/Initialized' },
    { requests: { cpu: '1', 'example.com/gpu': '0' }, is: 'True/Initialized' },
    { requests: { cpu: '1', 'example.com/gpu': '1' }, is: 'Unknown/ResourceNotRegistered' },
    { requests: { cpu: '1', memory: '1Gi' }, is: 'Unknown/ResourceNotRegistered' },
  ])('is, for a claim that requests $requests on a Node with only processors: $is', async ({ requests, is }) => {
    const b = bench([], (deps) => [new NodeClaimLifecycle(deps)]);
    const claim = settledClaim('claim', { conditions: [condition('Launched'), condition('Registered')] });
    b.put(NODE_CLAIM, { ...claim, spec: { ...claim.spec, resources: { requests } } });
    const node = nodeOf('node');
    b.put(NODE, { ...node, status: { ...node.status, allocatable: { cpu: '2', memory: '0' } } });
    await b.clock.advance(10);
    expect(b.condition('claim', 'Initialized')).toBe(is);
  });
});
