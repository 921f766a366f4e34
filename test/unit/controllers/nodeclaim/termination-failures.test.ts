/** What a claim's end and upkeep survive: writes that fail, clouds that say no. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM } from '../../../../src/api/kinds.ts';
import { TERMINATION_TIMESTAMP_ANNOTATION } from '../../../../src/api/labels.ts';
import { NodeClaimNotFound } from '../../../../src/cloud/errors.ts';
import { ApiError } from '../../../../src/kube/client.ts';
import { conditionOf } from '../harness.ts';
import { broken, TroubledWorld } from './troubled-world.ts';

let world: TroubledWorld;
beforeEach(() => {
  world = new TroubledWorld();
});
afterEach(() => world.kill());

describe('the end of a claim', () => {
  const remove = (): void => {
    world.removePods(...world.pods);
    world.kube.delete(NODE_CLAIM, world.claimRef);
  };

  it('waits for a cloud that fails, and counts once', async () => {
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

  it('keeps a deadline that is there already', async () => {
    await world.begin({ terminationGracePeriod: '30m' });
    await world.pass(10);
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: '2026-01-01T09:00:00Z' };
    world.kube.patch(NODE_CLAIM, world.claimRef, { metadata: { annotations } });
    world.kube.delete(NODE_CLAIM, world.claimRef);
    await world.pass(2);
    expect(world.claims[0]?.metadata.annotations).toMatchObject(annotations);
    expect(world.lines.map(({ message }) => message)).not.toContain('annotated nodeclaim');
  });

  it('leaves the Node of a claim alone that never registered', async () => {
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

  it('expires again when the first deletion fails', async () => {
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

  /** As if somebody had removed the finalizer of the Node. */
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
    { when: 'is not known', known: 'never', ready: 'Unknown', collected: true },
    { when: 'is ending', known: 'ending', ready: 'Unknown', collected: true },
    { when: 'is missing from one list alone', known: 'unlisted', ready: 'Unknown', collected: false },
    { when: 'is not known, while its Node reports', known: 'never', ready: 'True', collected: false },
  ])('of a claim whose instance $when: $collected', async ({ known, ready, collected }) => {
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

describe('the conditions of disruption', () => {
  it('say that a node may be consolidated although its drift cannot be found out', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '0' }] } });
    world.cloud.isDrifted = async () => {
      throw new Error('no amis exist given constraints');
    };
    world.start();
    await world.pass(2);
    world.pending(1);
    await world.pass(120); // back-off has grown by the end of the window
    expect(conditionOf(world.claims[0], 'Consolidatable')).toBe('True/Consolidatable');
    expect(world.errors().join()).toContain('no amis exist given constraints');
  });
});

describe('the time of the last pod event', () => {
  const last = (): number => Date.parse(world.claims[0]?.status?.lastPodEventTime ?? '');

  it('is written although the first try fails', async () => {
    await world.begin();
    await world.pass(60);
    const before = last();
    const failed = world.failing('patch-status nodeclaims', broken);
    world.pending(1, '100m');
    await world.pass(3);
    expect(failed()).toBe(1);
    expect(last()).toBeGreaterThan(before);
  });

  it('is written once for pods that come at the same moment', async () => {
    await world.begin();
    await world.pass(60);
    const written = (): number => world.kube.writes.filter((write) => write === 'patch-status nodeclaims').length;
    const before = written();
    world.pending(3, '100m');
    await world.pass(3);
    expect(written()).toBe(before + 1);
  });

  it('is the start of the process once that has started again', async () => {
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
