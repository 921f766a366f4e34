/** ProvisioningRequests of hostile tenants, and requests that are disturbed in every state. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Condition, getCondition, POD, POD_TEMPLATE, PROVISIONING_REQUEST } from '#api/objects';
import { ApiError } from '#kube/client';
import { World } from '../harness.ts';

const CHECK = 'check-capacity.autoscaling.x-k8s.io';
const BEST_EFFORT = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
const ATOMIC = 'atomic-scale-up.karpenter-ts.sh';
const GATE = ['--feature-gates=ProvisioningRequest=true'];
const MINUTE = 60;
const NODES = 3;

let world: World;
beforeEach(() => {
  world = new World();
  // one pod on each node
  world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
});
afterEach(() => world.kill());

const ref = (name: string) => ({ name, namespace: 'default' });
const template = (cpu = '3', name = 't'): unknown =>
  world.kube.create(POD_TEMPLATE, {
    apiVersion: 'v1',
    kind: 'PodTemplate',
    metadata: ref(name),
    template: { spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] } },
  });
const request = (count: number, className = ATOMIC, name = 'r', of = 't'): unknown =>
  world.kube.create(PROVISIONING_REQUEST, {
    apiVersion: 'autoscaling.x-k8s.io/v1',
    kind: 'ProvisioningRequest',
    metadata: ref(name),
    spec: {
      podSets: [{ podTemplateRef: { name: of }, count }],
      provisioningClassName: className,
      parameters: className === ATOMIC ? { BookingSeconds: '120' } : {},
    },
  });
const is = (type: string, name = 'r'): string | undefined =>
  getCondition(world.kube.get(PROVISIONING_REQUEST, ref(name)), type)?.status;
const begin = (): void => {
  template();
  request(NODES);
  world.nodePool();
  world.start(GATE);
};
/** Returns the numbers of NodeClaims and of instances that run. */
const running = async (): Promise<readonly number[]> => [world.claims.length, (await world.cloud.list()).length];

/** Runs until the request is booked, and afterwards until its booking has expired, with never more nodes than pods. */
const runThrough = async (): Promise<void> => {
  const states = { most: 0, booked: false };
  for (let second = 0; second < 9 * MINUTE; second += 1) {
    await world.pass(1);
    states.most = Math.max(states.most, ...(await running()));
    states.booked ||= is('Provisioned') === 'True';
  }
  expect(states).toEqual({ most: NODES, booked: true });
  expect(is('BookingExpired')).toBe('True');
  expect(await running()).toEqual([0, 0]);
};

/** Returns the writes of a request from its creation until its nodes are removed, without disturbance. */
async function writesOfLife(): Promise<readonly string[]> {
  begin();
  await runThrough();
  return world.kube.writes.filter((write) => /provisioningrequests|nodeclaims/.test(write));
}

/** Calls `disturb` before the write with this number. */
const atWrite = (number: number, disturb: () => void): void => {
  let seen = 0;
  world.kube.beforeWrite = (operation) => {
    if (!/provisioningrequests|nodeclaims/.test(operation)) return;
    seen += 1;
    if (seen === number) disturb();
  };
};

describe('a ProvisioningRequest', () => {
  it('launches its nodes once and leaves none behind if the leader ends at any of its writes', async () => {
    const writes = await writesOfLife();
    expect(writes.length).toBeGreaterThan(8);
    for (const [at] of writes.entries()) {
      world.kill();
      world = new World();
      world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
      begin();
      atWrite(at + 1, () => {
        world.kill();
        world.clock.after(5_000, () => world.start(GATE));
        throw new Error('the operator was killed');
      });
      await runThrough();
    }
  }, 300_000);

  it.each([
    409, 404, 500,
  ])('launches its nodes once if the API server responds to any of its writes with %i', async (status) => {
    const writes = await writesOfLife();
    for (const [at] of writes.entries()) {
      world.kill();
      world = new World();
      world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
      begin();
      atWrite(at + 1, () => {
        throw new ApiError(status, 'Disturbed', 'disturbed');
      });
      await runThrough();
    }
  }, 300_000);

  it('leaves no node and no virtual pod behind if it is deleted in any state', async () => {
    for (let second = 1; second <= 3 * MINUTE; second += second < 20 ? 1 : 20) {
      world.kill();
      world = new World();
      begin();
      await world.pass(second);
      world.kube.delete(PROVISIONING_REQUEST, ref('r'));
      await world.pass(4 * MINUTE);
      expect([second, ...(await running())]).toEqual([second, 0, 0]);
      expect(world.cluster.virtualPods.list()).toEqual([]);
    }
  }, 300_000);

  it.each<[string, unknown]>([
    ['a booking of the tenant', { conditions: [{ type: 'Provisioned', status: 'True' }] }],
    [
      'a booking from the future',
      { conditions: [{ type: 'Provisioned', status: 'True', lastTransitionTime: '2999-01-01T00:00:00Z' }] },
    ],
    [
      'times that cannot be read',
      {
        conditions: [
          { type: 'Provisioned', status: 'False', reason: 'CapacityIsNotFound', lastTransitionTime: 'soon' },
        ],
      },
    ],
    [
      'a state of its own',
      {
        conditions: [
          { type: 'Provisioned', status: 'Maybe' },
          { type: 'Failed', status: 'True' },
        ],
      },
    ],
    [
      'all ends at once',
      {
        conditions: ['Failed', 'BookingExpired', 'CapacityRevoked', 'Provisioned'].map((type) => ({
          type,
          status: 'True',
        })),
      },
    ],
    [
      'huge details',
      {
        provisioningClassDetails: Object.fromEntries(
          Array.from({ length: 64 }, (_, at) => [`k${at}`, 'x'.repeat(1000)]),
        ),
      },
    ],
    ['no conditions', { conditions: null }],
  ])('causes at most its own nodes, and no error, if its status has %s', async (_, status) => {
    begin();
    for (let round = 0; round < 6; round += 1) {
      world.kube.patch(PROVISIONING_REQUEST, ref('r'), { status }, 'status');
      await world.pass(10);
      expect(Math.max(...(await running()))).toBeLessThanOrEqual(NODES);
    }
    const [pod] = world.pending(1, '3');
    await world.pass(30);
    expect(pod && world.kube.get(POD, pod.metadata).spec.nodeName).toBeDefined();
    world.kube.delete(PROVISIONING_REQUEST, ref('r'));
    world.removePods(...(pod === undefined ? [] : [pod]));
    await world.pass(4 * MINUTE);
    expect(await running()).toEqual([0, 0]);
    expect(world.errors()).toEqual([]);
  });
});

describe('a flood of ProvisioningRequests', () => {
  /** Returns the seconds until a pod of another tenant has a node. */
  const waitOf = async (): Promise<number> => {
    const [pod] = world.pending(1, '3');
    for (let seconds = 1; seconds <= 120; seconds += 1) {
      await world.pass(1);
      if (pod !== undefined && world.kube.get(POD, pod.metadata).spec.nodeName) return seconds;
    }
    return Number.POSITIVE_INFINITY;
  };

  it('does not delay pods of other tenants, and holds a bounded number of virtual pods', async () => {
    world.nodePool('default', { limits: { cpu: '100' } });
    world.start(GATE);
    await world.pass(5);
    const undisturbed = await waitOf();
    template('3');
    template('1e999', 'odd');
    for (let at = 0; at < 2_000; at += 1) {
      const className = [CHECK, BEST_EFFORT, ATOMIC][at % 3];
      const count = at % 100 === 0 ? 2_147_483_647 : 1 + (at % 40);
      request(count, className, `r-${at}`, ['t', 'gone', 'odd', 't'][at % 4]);
    }
    expect(await waitOf()).toBeLessThanOrEqual(2 * undisturbed + 30);
    await world.pass(30);
    expect(world.cluster.virtualPods.list().length).toBeLessThanOrEqual(20_000);
    expect(await waitOf()).toBeLessThanOrEqual(2 * undisturbed + 30);
    const failed = (name: string): Condition | undefined =>
      getCondition(world.kube.get(PROVISIONING_REQUEST, ref(name)), 'Failed');
    expect(failed('r-1')).toMatchObject({ status: 'True', reason: 'FailedToCreatePods' });
    expect(failed('r-100')).toMatchObject({ status: 'True', reason: 'FailedToCreatePods' });
    expect(world.errors()).toEqual([]);
  }, 300_000);
});
