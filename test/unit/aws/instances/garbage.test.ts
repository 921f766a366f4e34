/** Termination of instances without a NodeClaim, and the interval of the controller. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import type { KubeClient, Ref } from '#kube/client';
import type { EventNote } from '#kube/reconcilers';
import { createMetrics } from '#observe/setup';
import { CollectionReport } from '../../../../src/aws/collection-report.ts';
import { clusterObject } from '../../../../src/aws/identity.ts';
import { instanceGarbageCollection } from '../../../../src/aws/instances/garbage-collection.ts';
import type { Instance } from '../../../../src/aws/instances/instance.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { handFed, recordingLog } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const AGE_MS = 31_000;

function collecting() {
  const clock = virtualClock();
  const events: EventNote[] = [];
  const metrics = createMetrics();
  const about = clusterObject('uid-1');
  const report = new CollectionReport({
    events: { publish: (...notes) => void events.push(...notes) },
    metrics: awsMetrics(metrics),
    clock,
    about,
  });
  const { informers, store } = handFed();
  const { log, lines } = recordingLog();
  const calls: string[] = [];
  const world = {
    /** The NodeClaims in the API server. */
    live: (): readonly NodeClaim[] => store(NODE_CLAIM).list(),
    found: [] as Instance[],
    /** Instances of another cluster with the same name. */
    foreign: [] as Instance[],
    /** Runs while EC2 lists instances. */
    listing: (): void => undefined,
    terminate: async (id: string): Promise<void> => void calls.push(`terminate ${id}`),
    isHeld: (_: string): boolean => false,
  };
  const controller = instanceGarbageCollection({
    client: {
      delete: async (_: unknown, { name }: Ref) => void calls.push(`delete ${name}`),
      listAll: async () => world.live(),
    } as unknown as KubeClient,
    informers,
    instances: {
      list: async () => {
        world.listing();
        return world.found;
      },
      get foreign() {
        return world.foreign;
      },
      terminate: (id: string) => world.terminate(id),
    },
    clock,
    report,
    isHeld: (id) => world.isHeld(id),
  });
  const instance = (id: string, more: Partial<Instance> = {}): Instance =>
    ({
      id,
      zone: 'zone-a',
      state: 'running',
      type: 'm5.large',
      capacityType: 'spot',
      launchedMs: clock.now() - AGE_MS,
      tags: { 'karpenter.sh/nodepool': 'default', 'karpenter.k8s.aws/ec2nodeclass': 'default' },
      ...more,
    }) as Instance;
  const claimOf = (id: string): NodeClaim => ({
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: { name: id, uid: id, resourceVersion: '1' },
    spec: { nodeClassRef: { group: '', kind: '', name: 'default' }, requirements: [] },
    status: { providerID: `aws:///zone-a/${id}` },
  });
  const claim = (id: string) => store(NODE_CLAIM).put(claimOf(id));
  const node = (id: string) =>
    store(NODE).put({
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${id}`, uid: id, resourceVersion: '1' },
      spec: { providerID: `aws:///zone-a/${id}` },
    });
  const pass = () => controller.reconcile({ log, signal: new AbortController().signal });
  const held = async (reason: string): Promise<string | undefined> =>
    (await metrics.text())
      .match(
        new RegExp(
          `garbage_collection_held\\{[^}]*resource="instance"[^}]*reason="${reason}"\\} (\\d+)|held\\{[^}]*reason="${reason}"[^}]*resource="instance"\\} (\\d+)`,
        ),
      )
      ?.slice(1)
      .find((each) => each !== undefined);
  return { world, calls, lines, clock, instance, claim, claimOf, node, pass, controller, events, held };
}

describe('instance.garbagecollection', () => {
  it('terminates instances older than thirty seconds without a NodeClaim, and then deletes their Nodes', async () => {
    const { world, calls, lines, instance, claim, node, clock, pass } = collecting();
    world.found = [
      instance('i-lost'),
      instance('i-owned'),
      instance('i-young', { launchedMs: clock.now() - 30_000 }),
      instance('i-ending', { state: 'shutting-down' }),
      instance('i-held'),
    ];
    world.isHeld = (id) => id === 'i-held';
    claim('i-owned');
    for (const id of ['i-lost', 'i-owned']) node(id);
    await pass();
    expect(calls).toEqual(['terminate i-lost', 'delete node-i-lost']);
    expect(lines.map(({ level, message }) => `${level} ${message}`)).toEqual([
      'info garbage collected cloudprovider instance',
      'info garbage collected node',
    ]);
  });

  it('lists instances before NodeClaims, so that an instance launched in the meantime has its NodeClaim', async () => {
    const { world, calls, instance, claim, pass } = collecting();
    world.found = [instance('i-1')];
    world.listing = () => claim('i-1');
    await pass();
    expect(calls).toEqual([]);
  });

  it('reads NodeClaims from the API server instead of the watch, and keeps all instances while that fails', async () => {
    const { world, calls, instance, claimOf, pass } = collecting();
    world.found = [instance('i-unseen'), instance('i-lost')];
    world.live = () => {
      throw new Error('connection refused');
    };
    await expect(pass()).rejects.toThrow('connection refused');
    expect(calls).toEqual([]);
    world.live = () => [claimOf('i-unseen')];
    await pass();
    expect(calls).toEqual(['terminate i-lost']);
  });

  it('deletes the Node also if the instance has terminated by itself', async () => {
    const { world, calls, instance, node, pass } = collecting();
    world.found = [instance('i-1')];
    world.terminate = async () => {
      throw new NodeClaimNotFound('gone');
    };
    node('i-1');
    await pass();
    expect(calls).toEqual(['delete node-i-1']);
  });

  it('runs every ten seconds until it has succeeded twenty times, then every two minutes', async () => {
    const { world, calls, instance, pass } = collecting();
    const end = world.terminate;
    world.found = [instance('i-1'), instance('i-2')];
    world.terminate = async (id) => {
      if (id === 'i-1') throw new Error('RequestLimitExceeded');
      return end(id);
    };
    await expect(pass()).rejects.toThrow('RequestLimitExceeded');
    expect(calls).toEqual(['terminate i-2']);
    world.found = [];
    for (let passes = 0; passes < 20; passes += 1) expect(await pass()).toEqual({ kind: 'after', waitMs: 10_000 });
    expect(await pass()).toEqual({ kind: 'after', waitMs: 120_000 });
  });

  it('waits at most for its period, independent of the number of failures of EC2', async () => {
    const { controller, pass } = collecting();
    for (let passes = 0; passes < 20; passes += 1) await pass();
    expect(await pass()).toEqual({ kind: 'after', waitMs: controller.backOff?.maxMs });
  });
});

describe('instance.garbagecollection of many instances', () => {
  const MINUTE = 60_000;
  const ids = (count: number): string[] => Array.from({ length: count }, (_, at) => `i-${at}`);

  /** Runs a pass every two minutes. Returns the minute of each termination. */
  async function passFor(world: ReturnType<typeof collecting>, minutes: number): Promise<Record<string, number>> {
    const ended: Record<string, number> = {};
    for (let minute = 0; minute <= minutes; minute += 2) {
      const before = world.calls.length;
      await world.pass();
      for (const call of world.calls.slice(before)) {
        ended[call] = minute;
        world.world.found = world.world.found.filter(({ id }) => call !== `terminate ${id}`);
      }
      await world.clock.advance(2 * MINUTE);
    }
    return ended;
  }

  it('logs each terminated instance with its properties and the reason', async () => {
    const { world, lines, instance, pass } = collecting();
    world.found = [instance('i-1')];
    await pass();
    expect(lines[0]).toEqual({
      level: 'info',
      message: 'garbage collected cloudprovider instance',
      fields: {
        'provider-id': 'aws:///zone-a/i-1',
        'instance-type': 'm5.large',
        zone: 'zone-a',
        'capacity-type': 'spot',
        NodePool: { name: 'default' },
        'age-seconds': 31,
        reason: 'the API server has no NodeClaim for the instance',
      },
    });
  });

  it.each([
    ['two of three', 2, 1],
    ['four of forty', 4, 36],
  ])('terminates %s without a delay', async (_, orphans, owned) => {
    const { world, calls, instance, claim, pass } = collecting();
    world.found = ids(orphans + owned).map((id) => instance(id));
    for (const { id } of world.found.slice(orphans)) claim(id);
    await pass();
    expect(calls).toHaveLength(orphans);
  });

  it.each([
    ['three of three', 3, 0],
    ['five of forty', 5, 35],
  ])('holds %s for an hour and reports it', async (_, orphans, owned) => {
    const one = collecting();
    const { world, calls, lines, instance, claim, events, held } = one;
    world.found = ids(orphans + owned).map((id) => instance(id));
    for (const { id } of world.found.slice(orphans)) claim(id);
    await passFor(one, 58);
    expect(calls).toEqual([]);
    expect(lines[0]).toMatchObject({
      level: 'warn',
      message: 'holding garbage collection, too many objects have no NodeClaim',
      fields: { count: orphans, total: orphans + owned },
    });
    expect(events[0]).toMatchObject({
      object: { kind: 'Namespace', metadata: { name: 'kube-system' } },
      reason: 'GarbageCollectionHeld',
      type: 'Warning',
    });
    expect(await held('share')).toBe(String(orphans));
  });

  it('terminates every orphan within four hours, a share every ten minutes, and then ends the hold', async () => {
    const one = collecting();
    one.world.found = ids(100).map((id) => one.instance(id));
    const ended = await passFor(one, 240);
    expect(Object.keys(ended)).toHaveLength(100);
    const minutes = Object.values(ended);
    expect([Math.min(...minutes), Math.max(...minutes)]).toEqual([60, 150]);
    for (const at of minutes)
      expect(minutes.filter((other) => other > at - 10 && other <= at).length).toBeLessThanOrEqual(10);
    expect(await one.held('share')).toBe('0');
    one.world.found = [one.instance('i-later')];
    await one.pass();
    expect(one.calls).toContain('terminate i-later');
  });

  it('holds orphans that appear one after the other in the same way as many orphans of one pass', async () => {
    const one = collecting();
    for (let at = 0; at < 20; at += 1) {
      one.world.found = [...one.world.found, one.instance(`i-${at}`)];
      await passFor(one, 0);
    }
    // After 40 minutes, two windows of ten minutes have passed. The other instances wait for an hour.
    expect(one.calls).toEqual(['terminate i-0', 'terminate i-1']);
  });

  it('keeps instances with restored NodeClaims, and holds them again if the NodeClaims disappear again', async () => {
    const one = collecting();
    const { world, calls, instance, claimOf } = one;
    world.found = ids(7).map((id) => instance(id));
    await passFor(one, 40);
    world.live = () => ids(7).map(claimOf);
    await passFor(one, 120);
    world.live = () => [];
    await passFor(one, 58);
    expect(calls).toEqual([]);
  });

  it('reports and never terminates instances of another cluster with the same name', async () => {
    const one = collecting();
    one.world.foreign = ids(7).map((id) => one.instance(id));
    await passFor(one, 600);
    expect(one.calls).toEqual([]);
    expect(one.lines[0]).toMatchObject({
      level: 'warn',
      message: 'ignoring objects of another cluster with the same name',
      fields: { ids: 'i-0, i-1, i-2, i-3, i-4 and 2 other(s)', count: 7 },
    });
    expect(one.events[0]).toMatchObject({ reason: 'InstancesOfAnotherCluster', type: 'Warning' });
    expect(await one.held('identity')).toBe('7');
  });

  /** Runs passes for four hours and returns the minute of each termination. Failed passes are repeated with back-off. */
  async function passWithRefusals(one: ReturnType<typeof collecting>, minutes: number): Promise<Map<string, number>> {
    const ended = new Map<string, number>();
    const startMs = one.clock.now();
    let backOffMs = 1_000;
    while (one.clock.now() - startMs <= minutes * MINUTE) {
      const before = one.calls.length;
      const failed = await one.pass().then(
        () => false,
        () => true,
      );
      for (const call of one.calls.slice(before)) {
        const id = call.replace('terminate ', '');
        ended.set(id, (one.clock.now() - startMs) / MINUTE);
        one.world.found = one.world.found.filter((each) => each.id !== id);
      }
      await one.clock.advance(failed ? backOffMs : 2 * MINUTE);
      backOffMs = failed ? Math.min(2 * MINUTE, backOffMs * 2) : 1_000;
    }
    return ended;
  }

  const refusing = (one: ReturnType<typeof collecting>, isRefused: (id: string) => boolean): string[] => {
    const end = one.world.terminate;
    const tries: string[] = [];
    one.world.terminate = async (id) => {
      if (!isRefused(id)) return end(id);
      tries.push(id);
      throw Object.assign(new Error(`The instance '${id}' may not be terminated`), { Code: 'OperationNotPermitted' });
    };
    return tries;
  };

  it('terminates ten orphans although EC2 refuses the two oldest, and reports each refusal with its answer', async () => {
    const one = collecting();
    one.world.found = ids(12).map((id, at) => one.instance(id, { launchedMs: one.clock.now() - AGE_MS - 12 + at }));
    refusing(one, (id) => ['i-0', 'i-1'].includes(id));
    const ended = await passWithRefusals(one, 240);
    expect([...ended.keys()].sort()).toEqual(ids(12).slice(2).sort());
    const refusals = one.events.filter(({ reason }) => reason === 'GarbageCollectionRefused');
    expect(refusals[0]?.message).toMatch(
      /^AWS refused to delete i-0, one of the instances without a NodeClaim: OperationNotPermitted: The instance 'i-0' may not be terminated; the next attempt is at 2026-01-01T01:\d\d:\d\dZ$/,
    );
    expect(await one.held('refused')).toBe('2');
  });

  it('terminates a new orphan without a delay although EC2 refuses others', async () => {
    const one = collecting();
    one.world.found = ids(2).map((id) => one.instance(id));
    refusing(one, (id) => ids(2).includes(id));
    await passWithRefusals(one, 30);
    one.world.found = [...one.world.found, one.instance('i-new')];
    expect((await passWithRefusals(one, 2)).get('i-new')).toBe(0);
  });

  it('terminates every orphan within four hours for random refusals, and retries each refusal in growing intervals', async () => {
    const cluster = fc.record({
      orphans: fc.integer({ min: 1, max: 30 }),
      owned: fc.integer({ min: 0, max: 30 }),
      refused: fc.array(fc.integer({ min: 0, max: 29 }), { maxLength: 30 }),
    });
    await fc.assert(
      fc.asyncProperty(cluster, async ({ orphans, owned, refused }) => {
        const one = collecting();
        const all = ids(orphans + owned);
        one.world.found = all.map((id, at) => one.instance(id, { launchedMs: one.clock.now() - AGE_MS - 100 + at }));
        for (const id of all.slice(orphans)) one.claim(id);
        const isRefused = new Set(refused.map((at) => `i-${at}`));
        let refuses = true;
        const tries = refusing(one, (id) => refuses && isRefused.has(id));
        const ended = await passWithRefusals(one, 240);
        const expected = all.slice(0, orphans);
        expect([...ended.keys()].sort()).toEqual(expected.filter((id) => !isRefused.has(id)).sort());
        for (const id of expected.filter((each) => isRefused.has(each))) {
          const count = tries.filter((each) => each === id).length;
          expect(count).toBeGreaterThanOrEqual(1);
          expect(count).toBeLessThanOrEqual(5 + 24);
        }
        refuses = false;
        const later = await passWithRefusals(one, 240);
        expect([...ended.keys(), ...later.keys()].sort()).toEqual([...expected].sort());
      }),
      { numRuns: 40, seed: 67 },
    );
  }, 120_000);
});
