/** A pause of the process of the local world, such as the sleep of a laptop. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { getCondition, LEASE, NODE, type Node } from '#api/objects';
import { cachesInProcess, connectInProcess } from '../../../../../src/local/in-process.ts';
import { type LocalApiServer, startApiServer } from '../../../../../src/local/kubernetes/apiserver/server.ts';
import { startNodeLifecycle } from '../../../../../src/local/kubernetes/controllers/node-lifecycle.ts';
import type { Parts } from '../../../../../src/local/parts.ts';
import { type SettableClock, settableClock } from '../../../virtualclock.ts';

const HOUR = 3_600_000;
const SECOND = 1_000;

describe('the node lifecycle of the local world', () => {
  let clock: SettableClock;
  let server: LocalApiServer;
  let parts: Parts;
  let life: AbortController;
  beforeEach(async () => {
    life = new AbortController();
    clock = settableClock();
    server = await startApiServer({ clock });
    parts = {
      ...{ client: connectInProcess(server), caches: cachesInProcess(server), clock },
      ...{ signal: life.signal, log: () => undefined },
    };
    await startNodeLifecycle(parts);
    // the timer of the node must not fire at the same times as the check for pauses, every five seconds
    await clock.advance(2 * SECOND);
    const status = { conditions: [{ type: 'Ready', status: 'True', reason: 'KubeletReady' }] };
    await parts.client.create(NODE, { apiVersion: 'v1', kind: 'Node', metadata: { name: 'n' }, status } as Node);
    await parts.client.patch(NODE, { name: 'n' }, { status }, { subresource: 'status', type: 'strategic' });
    await clock.settle();
  });
  afterEach(async () => {
    life.abort();
    await server.close();
  });

  const ready = async (): Promise<string | undefined> =>
    getCondition((await parts.client.find(NODE, { name: 'n' })) as Node, 'Ready')?.status;

  it('does not count an hour in which the process stood still as silence of a kubelet', async () => {
    expect(await ready()).toBe('True');
    await clock.advance(4 * SECOND);
    for (let pauses = 0; pauses < 3; pauses += 1) {
      // timers do not fire during the pause, and the timer of the node fires first after it
      clock.put(HOUR);
      await clock.advance(10 * SECOND);
      expect(await ready()).toBe('True');
      const lease = {
        apiVersion: 'coordination.k8s.io/v1',
        kind: 'Lease',
        metadata: { name: 'n', namespace: 'kube-node-lease' },
      };
      if (pauses === 0) await parts.client.create(LEASE, lease);
    }
  });

  it('still detects a silent kubelet', async () => {
    clock.put(HOUR);
    await clock.advance(60 * SECOND);
    expect(await ready()).toBe('Unknown');
  });
});
