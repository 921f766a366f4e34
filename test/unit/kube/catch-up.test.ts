import { describe, expect, it } from '@jest/globals';
import { NODE_CLAIM, type NodeClaim } from '#api/objects';
import type { KubeReader } from '../../../src/kube/client.ts';
import { catchUp } from '../../../src/kube/lead.ts';
import { virtualClock } from '../virtualclock.ts';
import { handFed, recordingLog } from './fakes.ts';

const claim = (name: string, uid = `uid-${name}`): NodeClaim =>
  ({ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', metadata: { name, uid, resourceVersion: '1' } }) as NodeClaim;

function standby(present: () => Promise<readonly NodeClaim[]>) {
  const [fed, clock, { log, lines }, stop] = [handFed(), virtualClock(), recordingLog(), new AbortController()];
  const client = { listAll: present } as unknown as KubeReader;
  let isDone = false;
  const done = catchUp({ client, informers: fed.informers, clock, log, signal: stop.signal }).then(() => {
    isDone = true;
  });
  return { store: fed.store(NODE_CLAIM), clock, lines, stop, done, isDone: () => isDone };
}

describe('catchUp', () => {
  it('resolves if the cache shows every NodeClaim', async () => {
    const { clock, isDone } = standby(async () => []);
    await clock.settle();
    expect(isDone()).toBe(true);
  });

  it('waits until a lagging cache shows the NodeClaims of the last leader', async () => {
    const { store, clock, lines, isDone } = standby(async () => [claim('a'), claim('b')]);
    store.put(claim('a'));
    await clock.advance(15_000);
    expect(isDone()).toBe(false);
    expect(lines).toMatchObject([
      {
        message: 'waiting for the cache to contain all NodeClaims',
        fields: { reason: 'the cache does not contain NodeClaim "b" (1 missing in total)' },
      },
    ]);
    store.put(claim('b'));
    await clock.advance(1_000);
    expect(isDone()).toBe(true);
  });

  it('distinguishes a deleted NodeClaim from a successor with the same name', async () => {
    const { store, clock, isDone } = standby(async () => [claim('a', 'second')]);
    store.put(claim('a', 'first'));
    await clock.advance(2_000);
    expect(isDone()).toBe(false);
  });

  it('retries if the API server does not respond, and ends with the signal', async () => {
    let calls = 0;
    const { clock, stop, done } = standby(async () => {
      calls += 1;
      throw new Error('connection refused');
    });
    await clock.advance(5_000);
    expect(calls).toBeGreaterThan(5);
    stop.abort();
    await clock.settle();
    await done;
  });
});
