/** Termination of instances without a NodeClaim, and the interval of the controller. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM } from '../../../../src/api/kinds.ts';
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import { CollectionReport } from '../../../../src/aws/collection-report.ts';
import { clusterObject } from '../../../../src/aws/identity.ts';
import { instanceGarbageCollection } from '../../../../src/aws/instances/garbage-collection.ts';
import type { Instance } from '../../../../src/aws/instances/instance.ts';
import { awsMetrics } from '../../../../src/aws/metrics.ts';
import { NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import type { KubeClient, Ref } from '../../../../src/kube/client.ts';
import type { EventNote } from '../../../../src/kube/events.ts';
import { createMetrics } from '../../../../src/observe/metrics.ts';
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
});
