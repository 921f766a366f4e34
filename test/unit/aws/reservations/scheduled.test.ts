/** Capacity blocks and reservations that start and end at a time, and open reservations that are not used. */
import {
  CreateCapacityReservationCommand,
  DescribeCapacityBlockOfferingsCommand,
  DescribeCapacityReservationsCommand,
  PurchaseCapacityBlockCommand,
} from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  NODE_CLAIM,
  NODE_POOL,
  type NodeClaim,
  TERMINATION_TIMESTAMP_ANNOTATION,
} from '#api/objects';
import { launchableNodes } from '#engine/solve';
import { openFence } from '#kube/client';
import { createClients } from '../../../../src/aws/clients.ts';
import { nodePoolOf } from '../../../support/awsobjects.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

const MINUTE_MS = 60_000;
const HOUR_MS = 60 * MINUTE_MS;
const RESERVED = only(CAPACITY_TYPE_LABEL, 'reserved');

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

type Seed = Omit<Parameters<Account['aws']['seed']['capacityReservation']>[0], 'instanceType' | 'zone' | 'total'>;

/** Makes the NodeClass select a reservation of three instances, and the NodePool static. */
async function select(seed: Seed, terminationGracePeriod?: string): Promise<string> {
  const id = account.aws.seed.capacityReservation({
    instanceType: 'm5.large',
    zone: 'us-west-2a',
    total: 3,
    matchCriteria: 'targeted',
    ...seed,
  });
  const nodeClass = account.nodeClass();
  const spec = { ...nodeClass.spec, capacityReservationSelectorTerms: [{ id }] };
  account.kube.put(EC2_NODE_CLASS, { ...nodeClass, spec });
  const pool = nodePoolOf(RESERVED);
  const template = { ...pool.spec.template.spec, ...(terminationGracePeriod && { terminationGracePeriod }) };
  account.kube.put(NODE_POOL, { ...pool, spec: { replicas: 8, template: { ...pool.spec.template, spec: template } } });
  await account.reconcileNodeClass();
  return id;
}

const pool = () => account.nodePool('default');
const launchable = async (): Promise<number> => launchableNodes(pool(), await account.provider.instanceTypes(pool()));
const listed = (): readonly string[] => (account.nodeClass().status?.capacityReservations ?? []).map(({ id }) => id);
const expiration = () => account.reconcile('capacityreservation.expiration');
const calendar = () => account.reconcile('capacityreservation.calendar');
const left = (claim: NodeClaim): NodeClaim | undefined => account.kube.find(NODE_CLAIM, claim.metadata);

describe('a scheduled capacity block', () => {
  const block = (): Seed => ({
    reservationType: 'capacity-block',
    startDateMs: account.clock.now() + HOUR_MS,
    endDateMs: account.clock.now() + 25 * HOUR_MS,
  });

  it('launches nothing before its start, and its instances from the next reconciliation on', async () => {
    const id = await select(block());
    expect(listed()).toEqual([]);
    expect(await launchable()).toBe(0);
    account.clock.forward(HOUR_MS - 30_000);
    // the NodeClass is read again exactly at the start
    const outcome = await account.reconcileNodeClass();
    const waitMs = outcome.kind === 'after' ? outcome.waitMs : Number.POSITIVE_INFINITY;
    expect(waitMs).toBeLessThanOrEqual(30_000);
    expect(listed()).toEqual([]);
    account.clock.forward(waitMs + 1);
    await account.reconcileNodeClass();
    expect(listed()).toEqual([id]);
    expect(await launchable()).toBe(3);
    const claim = await account.provider.create(account.claim(RESERVED));
    expect(claim.metadata.labels?.['karpenter.k8s.aws/capacity-reservation-id']).toBe(id);
    expect(await launchable()).toBe(2);
  });

  it('is named by an event on the NodePools that can use it', async () => {
    const id = await select(block());
    await calendar();
    const events = account.events.filter(({ reason }) => reason === 'CapacityReservationScheduled');
    expect(events.map(({ object, message }) => `${object.metadata.name}: ${message}`)).toEqual([
      expect.stringMatching(
        new RegExp(
          `^default: Waiting for capacity block ${id} of 3 m5.large in us-west-2a, which starts at .* and ends at `,
        ),
      ),
    ]);
  });

  it.each([
    { grace: undefined, minutes: 40 },
    { grace: '5m', minutes: 40 },
    { grace: '45m', minutes: 75 },
    { grace: '48h', minutes: 90 },
  ])('is left $minutes minutes before its end with a terminationGracePeriod of $grace', async ({ grace, minutes }) => {
    const endMs = account.clock.now() + 24 * HOUR_MS;
    await select({ reservationType: 'capacity-block', endDateMs: endMs }, grace);
    const template = account.claim(RESERVED);
    const spec = { ...template.spec, ...(grace && { terminationGracePeriod: grace }) };
    const claim = account.write(await account.provider.create({ ...template, spec }));
    account.clock.forward(endMs - account.clock.now() - (minutes + 1) * MINUTE_MS);
    await account.reconcileNodeClass();
    await expiration();
    expect(left(claim)).toBeDefined();
    expect(await launchable()).toBe(2);
    account.clock.forward(MINUTE_MS + 1_000);
    // no node replaces the node that leaves
    expect(await launchable()).toBe(0);
    let deadline: string | undefined;
    account.kube.beforeWrite = (operation, name) => {
      if (operation !== 'delete nodeclaims') return;
      deadline = account.kube.find(NODE_CLAIM, { name })?.metadata.annotations?.[TERMINATION_TIMESTAMP_ANNOTATION];
    };
    await expiration();
    expect(left(claim)).toBeUndefined();
    const latest = new Date(Math.floor((endMs - 30 * MINUTE_MS) / 1_000) * 1_000).toISOString().replace('.000', '');
    expect(deadline).toBe(grace === '5m' ? undefined : latest);
  });
});

describe('a future-dated reservation', () => {
  it('is left before its end by the nodes of a static NodePool that allows only reserved capacity', async () => {
    const endMs = account.clock.now() + 20 * 24 * HOUR_MS;
    await select({ startDateMs: account.clock.now() + 1_000, endDateMs: endMs });
    account.clock.forward(2_000);
    await account.reconcileNodeClass();
    const claim = account.write(await account.provider.create(account.claim(RESERVED)));
    account.clock.forward(endMs - account.clock.now() - 9 * MINUTE_MS);
    await account.reconcileNodeClass();
    expect(await launchable()).toBe(0);
    await expiration();
    expect(left(claim)).toBeUndefined();
  });
});

describe('an open reservation that no NodeClass selects', () => {
  const seed = () =>
    account.aws.seed.capacityReservation({ instanceType: 'm5.large', zone: 'us-west-2a', total: 3, available: 2 });
  const reported = () => account.events.filter(({ reason }) => reason === 'CapacityReservationIdle');

  it('is named with its price per day when it is idle in two reads, and no longer when it is selected', async () => {
    const id = seed();
    await calendar();
    expect(reported()).toEqual([]);
    account.clock.forward(11 * MINUTE_MS);
    await calendar();
    const [event] = reported();
    expect(event?.object.metadata.name).toBe('default');
    expect(event?.message).toBe(
      `Capacity reservation ${id} has 2 unused m5.large instances in us-west-2a, which cost $4.61 a day; select it in spec.capacityReservationSelectorTerms of EC2NodeClass default, or cancel it`,
    );
    expect(await account.metricsText()).toContain(
      `karpenter_capacity_reservations_idle_usd_per_day{reservation_id="${id}",instance_type="m5.large",zone="us-west-2a"} 4.608`,
    );
    const nodeClass = account.nodeClass();
    account.kube.put(EC2_NODE_CLASS, {
      ...nodeClass,
      spec: { ...nodeClass.spec, capacityReservationSelectorTerms: [{ id }] },
    });
    await account.reconcileNodeClass();
    account.clock.forward(11 * MINUTE_MS);
    await calendar();
    expect(reported()).toHaveLength(1);
    expect(await account.metricsText()).not.toContain('karpenter_capacity_reservations_idle_usd_per_day{');
  });

  it('is not named if no NodePool can use it', async () => {
    seed();
    account.kube.put(NODE_POOL, nodePoolOf(only('node.kubernetes.io/instance-type', 'c5.large')));
    await calendar();
    account.clock.forward(11 * MINUTE_MS);
    await calendar();
    expect(reported()).toEqual([]);
  });

  it('is read once in ten minutes', async () => {
    account.aws.calls.clear();
    for (let minute = 0; minute < 10; minute += 1) {
      await calendar();
      account.clock.forward(MINUTE_MS - 100);
    }
    expect(account.aws.calls.counts()).toEqual({ DescribeCapacityReservations: 1 });
  });
});

describe('the local AWS', () => {
  it('sells a capacity block that starts later and ends', async () => {
    const { ec2 } = await createClients({ fence: openFence() });
    const range = { StartDateRange: new Date(account.clock.now() + 2 * HOUR_MS) };
    const { CapacityBlockOfferings: [offering] = [] } = await ec2.send(
      new DescribeCapacityBlockOfferingsCommand({
        InstanceType: 'm5.large',
        InstanceCount: 2,
        CapacityDurationHours: 24,
        ...range,
      }),
    );
    const { CapacityReservation: bought } = await ec2.send(
      new PurchaseCapacityBlockCommand({
        CapacityBlockOfferingId: present(offering?.CapacityBlockOfferingId),
        InstancePlatform: 'Linux/UNIX',
      }),
    );
    const state = async () => {
      const ids = [present(bought?.CapacityReservationId)];
      const answer = await ec2.send(new DescribeCapacityReservationsCommand({ CapacityReservationIds: ids }));
      const [{ State, AvailableInstanceCount } = {}] = answer.CapacityReservations ?? [];
      return `${State} ${AvailableInstanceCount}`;
    };
    expect(bought).toMatchObject({ ReservationType: 'capacity-block', InstanceMatchCriteria: 'targeted' });
    expect(await state()).toBe('scheduled 0');
    account.clock.forward(3 * HOUR_MS);
    expect(await state()).toBe('active 2');
    account.clock.forward(25 * HOUR_MS);
    expect(await state()).toBe('expired 0');
    ec2.destroy();
  });

  it('schedules a reservation with a start in the future', async () => {
    const { ec2 } = await createClients({ fence: openFence() });
    const { CapacityReservation: made } = await ec2.send(
      new CreateCapacityReservationCommand({
        InstanceType: 'm5.large',
        InstancePlatform: 'Linux/UNIX',
        AvailabilityZone: 'us-west-2a',
        InstanceCount: 1,
        StartDate: new Date(account.clock.now() + HOUR_MS),
      }),
    );
    expect(made).toMatchObject({ State: 'scheduled', AvailableInstanceCount: 0 });
    ec2.destroy();
  });
});
