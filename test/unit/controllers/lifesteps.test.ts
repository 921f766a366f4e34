/** Parts of a NodeClaim's life by themselves. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM } from '../../../src/api/kinds.ts';
import type { CloudProvider, HookAnswer } from '../../../src/cloud/provider.ts';
import { askHooks } from '../../../src/controllers/nodeclaim/hooks.ts';
import { LaunchedInstances } from '../../../src/controllers/nodeclaim/launched.ts';
import { lifecycle } from '../../../src/controllers/nodeclaim/lifecycle.ts';
import { shortened } from '../../../src/controllers/nodeclaim/step.ts';
import { virtualClock } from '../virtualclock.ts';
import { bench, claimOf, condition, nodeOf, settledClaim } from './node/bench.ts';

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
    ['there are none', {}, { pending: [], waitMs: undefined, error: undefined }],
    ['all are done', { a: { done: true } }, { pending: [], waitMs: undefined, error: undefined }],
    [
      'several wait',
      { b: waits(9), a: waits(5), c: { done: true } },
      { pending: ['b', 'a'], waitMs: 5, error: undefined },
    ],
    [
      'one waits and one fails',
      { a: new Error('silence'), b: waits(9) },
      { pending: ['a', 'b'], waitMs: 9, error: { message: 'registration hook "a" failed, silence' } },
    ],
    [
      'several fail',
      { a: new Error('x'), b: new Error('y') },
      {
        pending: ['a', 'b'],
        waitMs: undefined,
        error: { message: 'registration hook "a" failed, x; registration hook "b" failed, y' },
      },
    ],
  ])('when %s', async (_, answers, is) => {
    expect(await ask(answers)).toMatchObject(is);
  });

  it('takes in the labels that hooks found out', async () => {
    const { claim } = await ask({ a: { done: true, labels: { partition: '3' } }, b: waits(1) });
    expect(claim.metadata.labels).toEqual({ own: 'yes', partition: '3' });
  });

  it('asks all at the same time', async () => {
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
  it('knows an instance for an hour, or until it is forgotten', async () => {
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
  ])('of %d characters', (length, is) => expect(shortened('x'.repeat(length))).toBe(is));
});

describe('initialization', () => {
  it.each([
    { requests: { cpu: '1' }, is: 'True/Initialized' },
    { requests: { cpu: '1', 'example.com/gpu': '0' }, is: 'True/Initialized' },
    { requests: { cpu: '1', 'example.com/gpu': '1' }, is: 'Unknown/ResourceNotRegistered' },
    { requests: { cpu: '1', memory: '1Gi' }, is: 'Unknown/ResourceNotRegistered' },
  ])('of a claim that asked for $requests on a Node with processors alone: $is', async ({ requests, is }) => {
    const b = bench([], (deps) => [lifecycle(deps)]);
    const claim = settledClaim('claim', { conditions: [condition('Launched'), condition('Registered')] });
    b.put(NODE_CLAIM, { ...claim, spec: { ...claim.spec, resources: { requests } } });
    const node = nodeOf('node');
    b.put(NODE, { ...node, status: { ...node.status, allocatable: { cpu: '2', memory: '0' } } });
    await b.clock.advance(10);
    expect(b.condition('claim', 'Initialized')).toBe(is);
  });
});
