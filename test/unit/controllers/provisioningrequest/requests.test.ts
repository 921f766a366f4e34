/** ProvisioningRequests: capacity for whole sets of pods, and its booking. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONSUME_REQUEST_ANNOTATIONS,
  DELETION_COST_ANNOTATION,
  getCondition,
  NODE_POOL,
  POD,
  POD_TEMPLATE,
  type Pod,
  PROVISIONING_REQUEST,
  type ProvisioningRequest,
} from '#api/objects';
import { InsufficientCapacity } from '#cloud';
import { World } from '../harness.ts';

const CHECK = 'check-capacity.autoscaling.x-k8s.io';
const BEST_EFFORT = 'best-effort-atomic-scale-up.autoscaling.x-k8s.io';
const ATOMIC = 'atomic-scale-up.karpenter-ts.sh';
const GATE = ['--feature-gates=ProvisioningRequest=true'];
const MINUTE = 60;
const DAY = 24 * 60 * MINUTE;

let world: World;
beforeEach(() => {
  world = new World();
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
const request = (
  count: number,
  provisioningClassName: string,
  parameters: Readonly<Record<string, string>> = {},
  name = 'r',
): unknown =>
  world.kube.create(PROVISIONING_REQUEST, {
    apiVersion: 'autoscaling.x-k8s.io/v1',
    kind: 'ProvisioningRequest',
    metadata: ref(name),
    spec: { podSets: [{ podTemplateRef: { name: 't' }, count }], provisioningClassName, parameters },
  });
const found = (name = 'r'): ProvisioningRequest => world.kube.get(PROVISIONING_REQUEST, ref(name));
const is = (type: string, name = 'r'): string => {
  const { status, reason } = getCondition(found(name), type) ?? {};
  return `${status}/${reason}`;
};
const message = (type: string): string => getCondition(found(), type)?.message ?? '';
const begin = async (limits?: Readonly<Record<string, string>>, seconds = 5): Promise<void> => {
  world.nodePool('default', limits && { limits });
  world.start(GATE);
  await world.pass(seconds);
};
/** Starts nodes of four CPUs with a pod each, and removes the pods. */
const freeNodes = async (count: number): Promise<void> => {
  world.nodePool('default', { disruption: { consolidateAfter: 'Never', budgets: [{ nodes: '100%' }] } });
  world.start([...GATE, '--packing=compatible']);
  const pods = Array.from({ length: count }, () => pinned());
  await world.pass(MINUTE);
  expect(world.nodes).toHaveLength(count);
  world.removePods(...pods);
  await world.pass(5);
};
/** Creates a pod that needs a node of four CPUs of its own. */
const pinned = (annotations: Readonly<Record<string, string>> = {}): Pod => {
  const [pod] = world.pending(1, '3');
  if (pod === undefined) throw new Error('no pod');
  world.kube.patch(POD, pod.metadata, {
    metadata: { annotations: { [DELETION_COST_ANNOTATION]: '1', ...annotations } },
    spec: {
      nodeSelector: { 'node.kubernetes.io/instance-type': 'm.xlarge' },
      containers: [{ name: 'main', ports: [{ hostPort: 80 }], resources: { requests: { cpu: '3' } } }],
    },
  });
  return pod;
};
const consume = (name = 'r', key: string = CONSUME_REQUEST_ANNOTATIONS[0]): Pod => pinned({ [key]: name });

describe('a ProvisioningRequest of the class check-capacity', () => {
  it('is provisioned on existing nodes, without a launch', async () => {
    await freeNodes(2);
    const before = world.cloud.creations;
    template();
    request(2, CHECK);
    await world.pass(5);
    expect([is('Accepted'), is('Provisioned')]).toEqual(['True/Accepted', 'True/CapacityIsFound']);
    expect(found().status?.provisioningClassDetails).toMatchObject({ 'karpenter.sh/nodepool': 'default' });
    expect(world.cloud.creations).toBe(before);
  });

  it('is tried again after 1, 2, 4, 8, 10 and 10 minutes', async () => {
    await freeNodes(2);
    const before = world.cloud.creations;
    template();
    request(3, CHECK);
    await world.pass(3);
    const waits: number[] = [];
    let last = getCondition(found(), 'Provisioned')?.lastTransitionTime ?? '';
    for (let seconds = 0; waits.length < 6 && seconds < 40 * MINUTE; seconds += 5) {
      await world.pass(5);
      const { lastTransitionTime = '' } = getCondition(found(), 'Provisioned') ?? {};
      if (lastTransitionTime !== last)
        waits.push(Math.round((Date.parse(lastTransitionTime) - Date.parse(last)) / 60_000));
      last = lastTransitionTime;
    }
    expect(waits).toEqual([1, 2, 4, 8, 10, 10]);
    expect([is('Provisioned'), world.cloud.creations]).toEqual(['False/CapacityIsNotFound', before]);
    expect(message('Provisioned')).toMatch(
      /^Capacity is not found: gang r needs 3 pods together, room for 2: .*check-capacity.* launches no nodes/,
    );
  });

  it.each([
    ['true', 'undefined/undefined', 'True/CapacityIsNotFound'],
    ['yes', 'False/CapacityIsNotFound', 'undefined/undefined'],
  ])('with noRetry "%s" has Provisioned=%s and Failed=%s', async (noRetry, provisioned, failed) => {
    template();
    request(3, CHECK, { noRetry });
    await begin();
    expect([is('Provisioned'), is('Failed')]).toEqual([provisioned, failed]);
    if (noRetry === 'yes')
      expect(message('Accepted')).toContain('parameter noRetry "yes" is ignored, use "true" or "false"');
  });

  it('is left to another instance if it names one', async () => {
    template();
    request(1, CHECK, { processorInstance: 'other' });
    await begin();
    expect(found().status).toBeUndefined();
  });

  it('does not share its room with a second request', async () => {
    await freeNodes(3);
    template();
    request(2, CHECK, {}, 'a');
    request(2, CHECK, {}, 'b');
    await world.pass(5);
    expect([is('Provisioned', 'a'), is('Provisioned', 'b')].sort()).toEqual([
      'False/CapacityIsNotFound',
      'True/CapacityIsFound',
    ]);
  });
});

describe.each([BEST_EFFORT, ATOMIC])('a ProvisioningRequest of the class %s', (className) => {
  it('is provisioned when its nodes are initialized', async () => {
    world.joining = false;
    template();
    request(4, className);
    await begin();
    expect([is('Provisioned'), message('Provisioned')]).toEqual([
      'False/CapacityIsLaunching',
      expect.stringMatching(
        /^0 of 4 pods have room on initialized nodes, 4 wait for nodes that are launched. The nodes are expected at 2/,
      ),
    ]);
    const launched = world.cloud.creations;
    world.joining = true;
    await world.pass(MINUTE);
    expect(is('Provisioned')).toBe('True/CapacityIsProvisioned');
    expect(world.cloud.creations).toBe(launched);
  });

  it('launches nothing if the limits have room for a part', async () => {
    template();
    request(10, className);
    await begin({ cpu: '16' }, 2 * MINUTE);
    expect([is('Provisioned'), world.cloud.creations]).toEqual(['False/CapacityIsNotFound', 0]);
    expect(message('Provisioned')).toContain('NodePool "default"');
  });

  it.each<[string, () => void]>([
    ['a limit is raised', () => world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { cpu: '64' } } })],
    ['another NodePool becomes ready', () => world.nodePool('other')],
  ])('is tried again within seconds when %s, and not again for each further edit', async (_, raise) => {
    template();
    request(10, className);
    await begin({ cpu: '16' }, 2 * MINUTE);
    expect([is('Provisioned'), world.cloud.creations]).toEqual(['False/CapacityIsNotFound', 0]);
    raise();
    await world.pass(15);
    expect(world.cloud.creations).toBeGreaterThan(0);
    await world.pass(MINUTE);
    expect(is('Provisioned')).toBe('True/CapacityIsProvisioned');
  });

  it('is tried at most once in ten seconds while a NodePool is edited without effect', async () => {
    template();
    request(10, className);
    await begin({ cpu: '16' }, MINUTE / 2);
    const writes = new Set<string>();
    for (let edit = 0; edit < 60; edit += 1) {
      world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { cpu: `${15 + (edit % 2)}` } } });
      await world.pass(1);
      writes.add(message('Provisioned'));
    }
    expect(writes.size).toBeGreaterThanOrEqual(3);
    expect(writes.size).toBeLessThanOrEqual(8);
    expect(world.cloud.creations).toBe(0);
  });

  it('fails without a retry if every instance type is too small', async () => {
    template('300');
    request(1, className);
    await begin();
    expect([is('Failed'), world.cloud.creations]).toEqual(['True/CapacityIsNotFound', 0]);
    expect(message('Failed')).toContain('has no instance type with enough room');
  });

  it.each([
    ['the capacity is sold out', new InsufficientCapacity('none left')],
    ['the request to the cloud fails', new Error('throttled')],
  ])('returns all nodes within two minutes if the last one cannot be launched because %s', async (_, error) => {
    world.joining = false;
    template('3');
    world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
    let left = 7;
    world.cloud.beforeCreate = () => {
      left -= 1;
      if (left < 0) {
        world.cloud.types = world.cloud.types.map((type) => ({
          ...type,
          offerings: type.offerings.map((offering) => ({ ...offering, available: false })),
        }));
        throw error;
      }
    };
    request(8, className);
    await begin(undefined, 20);
    expect(await world.cloud.list()).toHaveLength(7);
    await world.pass(2 * MINUTE);
    expect([world.claims.length, (await world.cloud.list()).length]).toEqual([0, 0]);
    await world.pass(MINUTE);
    expect([is('Provisioned'), world.cloud.creations]).toEqual(['False/CapacityIsNotFound', 7]);
  });

  it('is continued by the next leader without a second launch', async () => {
    world.joining = false;
    template();
    request(3, className);
    world.nodePool();
    world.start(GATE);
    while (world.claims.length === 0) await world.pass(1);
    const launched = world.claims.length;
    world.kill();
    world.joining = true;
    world.start(GATE);
    await world.pass(2 * MINUTE);
    expect([is('Provisioned'), world.claims.length]).toEqual(['True/CapacityIsProvisioned', launched]);
  });

  it('fails when it is older than ValidUntilSeconds', async () => {
    template();
    request(10, className, { ValidUntilSeconds: '300' });
    await begin({ cpu: '4' }, 4 * MINUTE);
    expect(is('Failed')).toBe('undefined/undefined');
    await world.pass(2 * MINUTE);
    expect(is('Failed')).toBe('True/Expired');
  });
});

describe('the booking of a ProvisioningRequest', () => {
  const book = async (count: number): Promise<void> => {
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] } });
    world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
    world.start(GATE);
    template();
    request(count, BEST_EFFORT);
    await world.pass(MINUTE);
    expect([is('Provisioned'), world.nodes.length]).toEqual(['True/CapacityIsProvisioned', count]);
  };

  it('keeps the nodes for ten minutes, and then releases them', async () => {
    await book(2);
    await world.pass(8 * MINUTE);
    expect([is('BookingExpired'), world.nodes.length]).toEqual(['undefined/undefined', 2]);
    await world.pass(4 * MINUTE);
    expect([is('BookingExpired'), world.nodes.length]).toEqual(['True/CapacityReservationTimeExpired', 0]);
  });

  it('is restored by the next leader', async () => {
    await book(2);
    world.kill();
    world.start(GATE);
    await world.pass(5 * MINUTE);
    expect([is('BookingExpired'), world.nodes.length]).toEqual(['undefined/undefined', 2]);
  });

  it('ends with the request', async () => {
    await book(2);
    world.kube.delete(PROVISIONING_REQUEST, ref('r'));
    await world.pass(2 * MINUTE);
    expect(world.nodes).toHaveLength(0);
  });

  it('ends when all pods of the request are scheduled', async () => {
    await book(2);
    consume();
    consume();
    await world.pass(MINUTE);
    expect([is('BookingExpired'), world.nodes.length]).toEqual(['True/CapacityBookingConsumed', 2]);
  });

  it('holds its room against other pods', async () => {
    await book(2);
    const other = pinned();
    await world.pass(1);
    // the scheduler does not know bookings
    expect(world.kube.get(POD, other.metadata).spec.nodeName).toBeDefined();
    await world.pass(2 * MINUTE);
    expect(world.nodes).toHaveLength(3);
  });

  it('is deleted seven days after it was provisioned', async () => {
    await book(1);
    await world.pass(12 * MINUTE);
    world.kill();
    await world.clock.advance(7 * DAY * 1000);
    world.start(GATE);
    await world.pass(5);
    expect(world.kube.find(PROVISIONING_REQUEST, ref('r'))).toBeUndefined();
  });
});

describe('a pod that uses the capacity of a ProvisioningRequest', () => {
  it.each(CONSUME_REQUEST_ANNOTATIONS)('gets no node while the request does not exist (%s)', async (key) => {
    world.nodePool();
    world.start(GATE);
    await world.pass(2);
    consume('absent', key);
    await world.pass(MINUTE);
    expect(world.cloud.creations).toBe(0);
    expect(world.events.find(({ reason }) => reason === 'ConsumesProvisioningRequest')?.message).toBe(
      "Unschedulable pod didn't trigger scale-up, because it's consuming ProvisioningRequest default/absent",
    );
  });

  it('gets a node after the end of the booking', async () => {
    world.nodePool();
    world.start(GATE);
    template();
    request(1, BEST_EFFORT);
    await world.pass(15 * MINUTE);
    expect(is('BookingExpired')).toBe('True/CapacityReservationTimeExpired');
    expect(world.nodes).toHaveLength(0);
    const pod = consume();
    await world.pass(MINUTE);
    expect(world.kube.get(POD, pod.metadata).spec.nodeName).toBeDefined();
  });

  it('is an ordinary pod if the feature is disabled', async () => {
    world.nodePool();
    world.start();
    await world.pass(2);
    consume('absent');
    await world.pass(MINUTE);
    expect(world.cloud.creations).toBe(1);
  });
});

describe('a ProvisioningRequest that cannot be used', () => {
  it('fails for ever if its PodTemplate does not exist', async () => {
    request(1, BEST_EFFORT);
    await begin();
    expect([is('Failed'), message('Failed')]).toEqual([
      'True/FailedToCreatePods',
      'PodTemplate "default/t" not found; create the PodTemplate before the ProvisioningRequest',
    ]);
    template();
    await world.pass(2 * MINUTE);
    expect(world.cloud.creations).toBe(0);
  });

  it.each([
    ['requests too many pods', 1_000_000, '1', /^Cannot provide capacity for 1000000 pods: at most 10000 are allowed/],
    ['has a template with an invalid quantity', 1, '1e1.5', /^Cannot read quantity "1e1\.5"/],
  ])('fails because it %s, and does not block other pods', async (_, count, cpu, text) => {
    template(cpu);
    request(count, BEST_EFFORT);
    await begin();
    world.pending(1);
    await world.pass(MINUTE);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect([is('Failed'), message('Failed')]).toEqual(['True/FailedToCreatePods', expect.stringMatching(text)]);
    expect(world.errors()).toEqual([]);
  });

  it('is ignored if its class is unknown', async () => {
    template();
    request(1, 'queued-provisioning.example.com');
    await begin();
    expect(found().status).toBeUndefined();
  });

  it('is provisioned without a back-off when the first NodePool is ready', async () => {
    template();
    request(1, BEST_EFFORT);
    world.start(GATE);
    await world.pass(5);
    expect([is('Provisioned'), message('Provisioned')]).toEqual([
      'False/CapacityIsNotFound',
      'Capacity is not found: no NodePool is ready.',
    ]);
    world.nodePool();
    await world.pass(20);
    expect(is('Provisioned')).toBe('True/CapacityIsProvisioned');
  });
});

describe('a booking of the class atomic-scale-up', () => {
  it('is revoked if its room is lost for a minute', async () => {
    world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.xlarge');
    world.nodePool('default', { limits: { nodes: '2' } });
    world.start(GATE);
    template();
    request(2, ATOMIC, { BookingSeconds: '3600' });
    await world.pass(MINUTE);
    expect(is('Provisioned')).toBe('True/CapacityIsProvisioned');
    pinned();
    await world.pass(2 * MINUTE);
    expect([is('CapacityRevoked'), message('CapacityRevoked')]).toEqual([
      'True/CapacityIsLost',
      expect.stringMatching(/^1 pods have lost their room: NodePool "default" /),
    ]);
  });
});
