/** Which instances are given back because nobody owns them, and how often that is looked at. */
import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM } from '../../../../src/api/kinds.ts';
import type { NodeClaim } from '../../../../src/api/nodeclaim.ts';
import { instanceGarbageCollection } from '../../../../src/aws/instances/garbage-collection.ts';
import type { Instance } from '../../../../src/aws/instances/instance.ts';
import type { Instances } from '../../../../src/aws/instances/instances.ts';
import { NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import type { KubeClient, Ref } from '../../../../src/kube/client.ts';
import { handFed, recordingLog } from '../../kube/fakes.ts';
import { virtualClock } from '../../virtualclock.ts';

const AGE_MS = 31_000;

function collecting() {
  const clock = virtualClock();
  const { informers, store } = handFed();
  const { log, lines } = recordingLog();
  const calls: string[] = [];
  const world = {
    /** The claims that the API server has. */
    live: (): readonly NodeClaim[] => store(NODE_CLAIM).list(),
    found: [] as Instance[],
    /** Runs while EC2 lists. */
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
      terminate: (id: string) => world.terminate(id),
    } as unknown as Instances,
    clock,
    isHeld: (id) => world.isHeld(id),
  });
  const instance = (id: string, more: Partial<Instance> = {}): Instance =>
    ({
      id,
      zone: 'zone-a',
      state: 'running',
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
  return { world, calls, lines, clock, instance, claim, claimOf, node, pass, controller };
}

describe('instance.garbagecollection', () => {
  it('ends what is older than thirty seconds and in no claim, and then its Node', async () => {
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
      'debug garbage collected cloudprovider instance',
      'debug garbage collected node',
    ]);
  });

  it('lists instances before claims, so that one that is bought meanwhile has its claim', async () => {
    const { world, calls, instance, claim, pass } = collecting();
    world.found = [instance('i-1')];
    world.listing = () => claim('i-1');
    await pass();
    expect(calls).toEqual([]);
  });

  it('asks the API server first, whose watch may hang, and keeps everything while that cannot answer', async () => {
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

  it('removes the Node also when the instance has gone by itself', async () => {
    const { world, calls, instance, node, pass } = collecting();
    world.found = [instance('i-1')];
    world.terminate = async () => {
      throw new NodeClaimNotFound('gone');
    };
    node('i-1');
    await pass();
    expect(calls).toEqual(['delete node-i-1']);
  });

  it('looks every ten seconds until it has succeeded twenty times, then every two minutes', async () => {
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

  it('never waits for longer than its period, however long EC2 has failed', async () => {
    const { controller, pass } = collecting();
    for (let passes = 0; passes < 20; passes += 1) await pass();
    expect(await pass()).toEqual({ kind: 'after', waitMs: controller.backOff?.maxMs });
  });
});
