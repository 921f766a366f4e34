/** Failed writes and cloud provider errors during termination and maintenance of a claim. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, REGISTERED_LABEL, TERMINATION_TIMESTAMP_ANNOTATION } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import { ApiError } from '#kube/client';
import { conditionOf } from '../harness.ts';
import { broken, TroubledWorld } from './troubled-world.ts';

let world: TroubledWorld;
beforeEach(() => {
  world = new TroubledWorld();
});
afterEach(() => world.kill());

describe('the termination of a claim', () => {
  const remove = (): void => {
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, world.claimRef);
  };

  it('is retried if the cloud provider fails, and counted once', async () => {
    await world.begin();
    await world.pass(10);
    removeNodeLeavingClaim();
    let failures = 2;
    const terminate = world.cloud.delete.bind(world.cloud);
    world.cloud.delete = async (claim) => {
      failures -= 1;
      if (failures >= 0) throw new Error('RequestLimitExceeded');
      return terminate(claim);
    };
    remove();
    await world.pass(1);
    expect(conditionOf(world.claims[0], 'InstanceTerminating')).toBeUndefined();
    world.kube.beforeWrite = conflictOnce('patch nodeclaims');
    await world.pass(40);
    expect(world.claims).toEqual([]);
    expect(world.lines.filter(({ message }) => message === 'deleted nodeclaim')).toHaveLength(1);
    const text = await world.metrics.text();
    for (const name of [
      'nodeclaims_terminated_total',
      'instance_termination_duration_seconds_count',
      'nodeclaims_termination_duration_seconds_count',
    ])
      expect(text).toMatch(new RegExp(`${name}\\{nodepool="default".*\\} 1`));
  });

  it('keeps an existing deadline', async () => {
    await world.begin({ terminationGracePeriod: '30m' });
    await world.pass(10);
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: '2026-01-01T09:00:00Z' };
    world.kube.patch(NODE_CLAIM, world.claimRef, { metadata: { annotations } });
    world.kube.delete(NODE_CLAIM, world.claimRef);
    await world.pass(2);
    expect(world.claims[0]?.metadata.annotations).toMatchObject(annotations);
    expect(world.lines.map(({ message }) => message)).not.toContain('annotated nodeclaim');
  });

  it('ignores the Node of a claim that never registered', async () => {
    world.joining = false;
    await world.begin();
    await world.pass(3);
    world.joinAs({});
    world.joinAs({});
    world.kill();
    world.start();
    await world.pass(2);
    remove();
    await world.pass(20);
    expect(world.claims).toEqual([]);
    expect(world.kube.writes).not.toContain('delete nodes');
  });

  it('drains the Node if the deletion came before the claim was marked as registered', async () => {
    await world.begin();
    world.kube.beforeWrite = (at) => {
      if (at !== 'patch-status nodeclaims' || world.nodes[0]?.metadata.labels?.[REGISTERED_LABEL] !== 'true') return;
      world.kube.beforeWrite = () => undefined;
      world.kube.delete(NODE_CLAIM, world.claimRef);
      throw new ApiError(409, 'Conflict', 'modified');
    };
    await world.pass(10);
    const [claim] = world.claims;
    const isRunning = (): boolean => world.cloud.instances.has(claim?.status?.providerID ?? '');
    expect(conditionOf(claim, 'Registered')).not.toBe('True');
    expect(world.kube.writes).toContain('delete nodes');
    expect(isRunning()).toBe(true);
    world.removePods(...world.pods);
    await world.pass(40);
    expect(isRunning()).toBe(false);
    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(claim?.metadata.name);
  });

  it('expires the claim again if the first deletion fails', async () => {
    await world.begin({ expireAfter: '10m' });
    await world.pass(10);
    world.removePods(...world.pods);
    const failed = world.failing('delete nodeclaims', broken, broken);
    await world.clock.advance(9 * 60_000);
    await world.pass(90);
    expect(failed()).toBe(2);
    expect(world.claims).toEqual([]);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="expired".*\} 1/);
  });

  /** Removes the Node as if another client had removed its finalizer. */
  function removeNodeLeavingClaim(): void {
    world.joining = false;
    world.removeNode();
  }

  function conflictOnce(operation: string): (at: string) => void {
    let armed = true;
    return (at) => {
      if (at !== operation || !armed) return;
      armed = false;
      throw new ApiError(409, 'Conflict', 'modified');
    };
  }
});

describe('garbage collection', () => {
  it.each([
    { when: 'does not exist', known: 'never', ready: 'Unknown', collected: true },
    { when: 'is terminating', known: 'ending', ready: 'Unknown', collected: true },
    { when: 'is missing only from a list', known: 'unlisted', ready: 'Unknown', collected: false },
    { when: 'does not exist, while its Node is Ready', known: 'never', ready: 'True', collected: false },
  ])('collects a claim whose instance $when: $collected', async ({ known, ready, collected }) => {
    await world.begin();
    await world.pass(10);
    world.joining = false;
    world.removePods(...world.pods);
    const [{ created } = { created: undefined }] = [...world.cloud.instances.values()];
    const ending = created && {
      ...created,
      metadata: { ...created.metadata, deletionTimestamp: '2026-01-01T00:00:00Z' },
    };
    world.cloud.list = async () => (known === 'ending' && ending ? [ending] : []);
    const { get } = world.cloud;
    world.cloud.get = async (id) => {
      if (known === 'ending' && ending) return ending;
      if (known === 'unlisted') return get.call(world.cloud, id);
      throw new NodeClaimNotFound(id);
    };
    world.kube.patch(
      NODE,
      world.nodes[0]?.metadata ?? { name: '' },
      { status: { conditions: [{ type: 'Ready', status: ready }] } },
      'status',
    );
    await world.clock.advance(2 * 60_000);
    await world.pass(20);
    expect(world.claims.length === 0).toBe(collected);
    expect((await world.metrics.text()).includes('reason="garbage_collected"')).toBe(collected);
  });
});

describe('the list of disruption conditions', () => {
  it('includes Consolidatable even if drift cannot be evaluated', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '0' }] } });
    world.cloud.isDrifted = async () => {
      throw new Error('no amis exist given constraints');
    };
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(120); // back-off has reached its maximum by the end of the window
    expect(conditionOf(world.claims[0], 'Consolidatable')).toBe('True/Consolidatable');
    expect(world.errors().join()).toContain('no amis exist given constraints');
  });
});

describe('the time of the last pod event', () => {
  const last = (): number => Date.parse(world.claims[0]?.status?.lastPodEventTime ?? '');

  it('is written even if the first attempt fails', async () => {
    await world.begin();
    await world.pass(60);
    const before = last();
    const failed = world.failing('patch-status nodeclaims', broken);
    world.pending(1, '100m');
    await world.pass(3);
    expect(failed()).toBe(1);
    expect(last()).toBeGreaterThan(before);
  });

  it('is written once for pods that are created at the same time', async () => {
    await world.begin();
    await world.pass(60);
    const written = (): number => world.kube.writes.filter((write) => write === 'patch-status nodeclaims').length;
    const before = written();
    world.pending(3, '100m');
    await world.pass(3);
    expect(written()).toBe(before + 1);
  });

  it('is the start of the process after a restart', async () => {
    await world.begin();
    await world.pass(60);
    world.kill();
    await world.clock.advance(60_000);
    const startedMs = world.clock.now();
    world.start();
    await world.pass(2);
    expect(last()).toBeGreaterThanOrEqual(startedMs);
  });
});
