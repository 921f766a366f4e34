/** The reservation of a launch, and the record of a reservation that is used up. */
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  INSTANCE_TYPE_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import type { ReservationSeed } from '#local/testing';
import { Account, only } from '../support/account.ts';

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

async function select(...seeds: readonly Partial<ReservationSeed>[]): Promise<readonly string[]> {
  const ids = seeds.map((seed) =>
    account.aws.seed.capacityReservation({
      instanceType: 'm5.large',
      zone: 'us-west-2a',
      total: 1,
      matchCriteria: 'targeted',
      ...seed,
    }),
  );
  const nodeClass = account.nodeClass();
  const capacityReservationSelectorTerms = ids.map((id) => ({ id }));
  account.kube.put(EC2_NODE_CLASS, { ...nodeClass, spec: { ...nodeClass.spec, capacityReservationSelectorTerms } });
  await account.reconcileNodeClass();
  return ids;
}

const launch = async (...capacityTypes: readonly string[]): Promise<NodeClaim> =>
  account.write(
    await account.provider.create(
      account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large', 'm5.xlarge'), only(CAPACITY_TYPE_LABEL, ...capacityTypes)),
    ),
  );
const labelsOf = ({ metadata }: NodeClaim) => metadata.labels ?? {};

/** Makes EC2 report insufficient capacity in the zone, independent of its reservations. */
const full = (zone: string): void => {
  account.aws.faults.add({ kind: 'capacity', instanceType: 'm5.large', zone, code: 'ReservationCapacityExceeded' });
};

it('labels an instance with its reservation if there are several', async () => {
  const [, inB = ''] = await select({ zone: 'us-west-2a' }, { zone: 'us-west-2b' });
  full('us-west-2a');
  expect(labelsOf(await launch('reserved'))).toMatchObject({
    [ZONE_LABEL]: 'us-west-2b',
    [CAPACITY_RESERVATION_ID_LABEL]: inB,
  });
});

it('uses the next reservation of a type and zone if the tried reservation is used up', async () => {
  const [small = ''] = await select({ id: 'cr-0a', total: 1 }, { id: 'cr-0b', total: 5 });
  full('us-west-2a');
  await expect(launch('reserved')).rejects.toThrow('ReservationCapacityExceeded');
  account.aws.faults.clear();
  expect(labelsOf(await launch('reserved'))[CAPACITY_RESERVATION_ID_LABEL]).toBe(small);
});

it('launches on-demand instances while a capacity block is used up', async () => {
  await select({ reservationType: 'capacity-block', available: 0 });
  const claim = await launch('reserved', 'on-demand');
  expect(labelsOf(claim)[CAPACITY_TYPE_LABEL]).toBe('on-demand');
});
