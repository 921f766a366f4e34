import { describe, expect, it } from '@jest/globals';
import type { Lease } from '#api/objects';
import { silent } from '#observe/logger';
import { ApiError, type KubeClient } from '../../../src/kube/client.ts';
import { Leadership } from '../../../src/kube/fence.ts';
import { electLeader } from '../../../src/kube/lease.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';
import { recordingLog } from './fakes.ts';

const SECOND = 1_000;

/**
 * One lease on a server with optimistic locking. Clients can be cut off, or receive the responses to their writes
 * late.
 */
function leaseServer() {
  let stored: Lease | undefined;
  let version = 0;
  const store = (lease: Lease): Lease => {
    version += 1;
    stored = { ...lease, metadata: { ...lease.metadata, resourceVersion: String(version) } };
    return stored;
  };
  const client = (isCutOff = () => false, answered: () => Promise<void> = async () => {}): KubeClient => {
    const guarded = async <T>(work: () => T): Promise<T> => {
      if (isCutOff()) throw new Error('connection refused');
      return work();
    };
    return {
      find: () => guarded(() => stored),
      create: async (_: unknown, lease: Lease) => {
        const created = await guarded(() => {
          if (stored) throw new ApiError(409, 'AlreadyExists', 'it exists');
          return store(lease);
        });
        await answered();
        return created;
      },
      update: (_: unknown, lease: Lease) =>
        guarded(() => {
          if (lease.metadata.resourceVersion !== stored?.metadata.resourceVersion) {
            throw new ApiError(409, 'Conflict', 'it changed');
          }
          return store(lease);
        }),
    } as unknown as KubeClient;
  };
  return { client, current: () => stored, put: store };
}

function candidate(
  server: ReturnType<typeof leaseServer>,
  clock: VirtualClock,
  identity: string,
  cutOff = () => false,
  answered?: () => Promise<void>,
) {
  const stop = new AbortController();
  const log: string[] = [];
  const election = electLeader({
    client: server.client(cutOff, answered),
    clock,
    log: silent,
    leadership: new Leadership(clock),
    name: 'karpenter-leader-election',
    namespace: 'kube-system',
    identity,
    signal: stop.signal,
    random: () => 0,
  });
  const start = clock.now();
  void election.elected.then(() => log.push(`elected ${(clock.now() - start) / SECOND}`));
  void election.ended.then((how) => log.push(`${how} ${(clock.now() - start) / SECOND}`));
  return { log, stop };
}

describe('electLeader', () => {
  it('elects one of two, and the other after the first released', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    const first = candidate(server, clock, 'first');
    const second = candidate(server, clock, 'second');
    await clock.advance(30 * SECOND);
    expect([first.log, second.log]).toEqual([['elected 0'], []]);
    expect(server.current()?.spec).toMatchObject({
      holderIdentity: 'first',
      leaseDurationSeconds: 15,
      leaseTransitions: 0,
      renewTime: '2026-01-01T00:00:30.000000Z',
    });
    first.stop.abort();
    await clock.advance(3 * SECOND);
    expect(first.log).toEqual(['elected 0', 'released 30']);
    expect(second.log).toEqual(['elected 32']);
    expect(server.current()?.spec).toMatchObject({ holderIdentity: 'second', leaseTransitions: 1 });
  });

  it('loses the lease after the renew deadline if it is cut off, before the other candidate takes over', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    let isCutOff = false;
    const first = candidate(server, clock, 'first', () => isCutOff);
    const second = candidate(server, clock, 'second');
    await clock.advance(9 * SECOND);
    isCutOff = true;
    await clock.advance(60 * SECOND);
    // The last renewal was at 8 s.
    expect(first.log).toEqual(['elected 0', 'lost 18']);
    expect(second.log).toEqual(['elected 26']);
  });

  it.each([
    ['put forward', 60 * SECOND],
    ['put back', -60 * SECOND],
  ])('has at most one leader if the time of a machine is %s', async (_, byMs) => {
    const [server, clock] = [leaseServer(), virtualClock()];
    let setMs = 0;
    const wall: VirtualClock = { ...clock, now: () => clock.now() + setMs, monotonic: clock.now };
    let isCutOff = false;
    const first = candidate(server, wall, 'first', () => isCutOff);
    const second = candidate(server, wall, 'second');
    await clock.advance(9 * SECOND);
    isCutOff = true;
    await clock.advance(2 * SECOND);
    setMs = byMs;
    await clock.advance(60 * SECOND);
    const seconds = (line: string | undefined): number => Number(line?.split(' ')[1]) - setMs / SECOND;
    // The last renewal was at 8 s. A holder with a time jump stops at its next attempt. The other candidate takes over
    // no earlier.
    expect(seconds(first.log[1])).toBe(byMs > 0 ? 12 : 18);
    expect(seconds(second.log[0])).toBe(26);
  });

  it.each([
    // in time, with time left to renew
    [7, ['elected 7'], []],
    // The lease is still held, so it is renewed first.
    [9, ['elected 11'], []],
    [12, ['elected 12'], []],
    [17, ['elected 12'], []],
    [20, ['elected 12'], []],
  ])('does not lead on a response that is %d s late unless the lease can be renewed in time', async (late, first, second) => {
    const [server, clock] = [leaseServer(), virtualClock()];
    const slow = candidate(server, clock, 'slow', undefined, () => clock.sleep(late * SECOND));
    await clock.settle();
    const other = candidate(server, clock, 'other');
    await clock.advance(60 * SECOND);
    expect([slow.log, other.log]).toEqual([first, second]);
  });

  it('releases a lease that was acquired during the stop', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    const slow = candidate(server, clock, 'slow', undefined, () => clock.sleep(3 * SECOND));
    await clock.advance(SECOND);
    slow.stop.abort();
    await clock.advance(10 * SECOND);
    expect(slow.log).toEqual(['released 3']);
    expect(server.current()?.spec?.holderIdentity).toBe('');
  });

  it.each(['find', 'update'] as const)('survives a request to %s without a response', async (operation) => {
    const [server, clock] = [leaseServer(), virtualClock()];
    let isStuck = false;
    const client = server.client();
    const stuck = async (): Promise<never> => {
      isStuck = false;
      return new Promise(() => undefined);
    };
    const work = client[operation].bind(client) as (...values: readonly unknown[]) => Promise<unknown>;
    const hanging = { ...client, [operation]: (...values: unknown[]) => (isStuck ? stuck() : work(...values)) };
    const first = candidate({ ...server, client: () => hanging as KubeClient }, clock, 'first');
    await clock.advance(5 * SECOND);
    isStuck = true;
    await clock.advance(60 * SECOND);
    expect([first.log, isStuck]).toEqual([['elected 0'], false]);
  });

  it('logs the reason for the loss', async () => {
    const [server, clock, { log, lines }] = [leaseServer(), virtualClock(), recordingLog()];
    let isCutOff = false;
    const stop = new AbortController();
    const client = server.client(() => isCutOff);
    const leadership = new Leadership(clock);
    electLeader({ client, clock, log, leadership, name: 'lease', namespace: 'here', signal: stop.signal });
    await clock.advance(SECOND);
    isCutOff = true;
    await clock.advance(20 * SECOND);
    expect(lines.filter(({ level }) => level === 'error')).toMatchObject([
      { message: 'leader election lost', fields: { lease: 'here/lease', error: new Error('connection refused') } },
    ]);
  });

  it('survives short interruptions', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    let isCutOff = false;
    const first = candidate(server, clock, 'first', () => isCutOff);
    await clock.advance(5 * SECOND);
    isCutOff = true;
    await clock.advance(6 * SECOND);
    isCutOff = false;
    await clock.advance(60 * SECOND);
    expect(first.log).toEqual(['elected 0']);
  });

  it('waits a full duration for a holder without an observed renewal, independent of the times in the lease', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    server.put({
      apiVersion: 'coordination.k8s.io/v1',
      kind: 'Lease',
      metadata: { name: 'karpenter-leader-election', namespace: 'kube-system' },
      // According to its own timestamp, it was renewed a day ago.
      spec: { holderIdentity: 'other', leaseDurationSeconds: 15, renewTime: '2025-12-31T00:00:00.000000Z' },
    });
    const first = candidate(server, clock, 'first');
    await clock.advance(14 * SECOND);
    expect(first.log).toEqual([]);
    await clock.advance(3 * SECOND);
    expect(first.log).toEqual(['elected 16']);
  });

  it('is lost if another candidate holds the lease', async () => {
    const [server, clock] = [leaseServer(), virtualClock()];
    const first = candidate(server, clock, 'first');
    await clock.advance(SECOND);
    const taken = server.current();
    if (taken) server.put({ ...taken, spec: { ...taken.spec, holderIdentity: 'thief' } });
    await clock.advance(3 * SECOND);
    expect(first.log).toEqual(['elected 0', 'lost 2']);
    expect(server.current()?.spec?.holderIdentity).toBe('thief');
  });
});
