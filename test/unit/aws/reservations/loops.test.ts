import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_RESERVATION_TYPE_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  NODE,
  NODE_CLAIM,
  REGISTERED_LABEL,
} from '#api/objects';
import { ApiError } from '#kube/client';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

let account: Account;
beforeEach(async () => {
  account = await Account.open();
});
afterEach(() => account.close());

const HOUR_MS = 3_600_000;
const expiration = () => account.reconcile('capacityreservation.expiration');
const capacityType = () => account.reconcile('capacityreservation.capacitytype');

/** Makes the NodeClass select one reservation. */
async function select(reservation: { endDateMs?: number; reservationType?: 'default' | 'capacity-block' }) {
  const id = account.aws.seed.capacityReservation({
    instanceType: 'm5.large',
    zone: 'us-west-2a',
    total: 3,
    matchCriteria: 'targeted',
    ...reservation,
  });
  const nodeClass = account.nodeClass();
  account.kube.put(EC2_NODE_CLASS, {
    ...nodeClass,
    spec: { ...nodeClass.spec, capacityReservationSelectorTerms: [{ id }] },
  });
  await account.reconcileNodeClass();
  return id;
}

const launch = async () =>
  account.write(await account.provider.create(account.claim(only(CAPACITY_TYPE_LABEL, 'reserved'))));

describe('expiration', () => {
  it('deletes only the NodeClaims of a capacity block, 40 minutes before it ends', async () => {
    const id = await select({ endDateMs: account.clock.now() + HOUR_MS, reservationType: 'capacity-block' });
    const claim = await launch();
    const other = account.claim();
    expect(claim.metadata.labels).toMatchObject({ [CAPACITY_RESERVATION_ID_LABEL]: id });
    expect(await expiration()).toEqual({ kind: 'after', waitMs: 60_000 });
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeDefined();

    account.clock.forward(21 * 60_000);
    await account.reconcileNodeClass();
    await expiration();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeUndefined();
    expect(account.kube.find(NODE_CLAIM, other.metadata)).toBeDefined();
  });

  it('keeps the nodes of an ending reservation, because they continue as on-demand instances', async () => {
    await select({ endDateMs: account.clock.now() + HOUR_MS });
    const claim = await launch();
    account.clock.forward(59 * 60_000);
    await account.reconcileNodeClass();
    await expiration();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeDefined();
  });

  it('reports failed deletions', async () => {
    await select({ endDateMs: account.clock.now() + HOUR_MS, reservationType: 'capacity-block' });
    await launch();
    account.clock.forward(21 * 60_000);
    await account.reconcileNodeClass();
    account.kube.beforeWrite = (operation) => {
      if (operation === 'delete nodeclaims') throw new ApiError(500, 'InternalError', 'etcd is away');
    };
    await expect(expiration()).rejects.toThrow('etcd is away');
  });
});

describe('capacity type', () => {
  const node = (providerID: string, labels: Readonly<Record<string, string>>) =>
    account.kube.put(NODE, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${Object.keys(labels).length}`, labels },
      spec: { providerID },
    });
  const labels = { [CAPACITY_TYPE_LABEL]: 'reserved', [CAPACITY_RESERVATION_ID_LABEL]: 'cr-1' };

  it('sends no AWS request without reservations', async () => {
    account.write(await account.provider.create(account.claim()));
    account.aws.calls.clear();
    expect(await capacityType()).toEqual({ kind: 'after', waitMs: 60_000 });
    expect(account.aws.calls.counts()).toEqual({});
  });

  it('keeps the label of instances in their reservation', async () => {
    await select({});
    const claim = await launch();
    await capacityType();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)?.metadata.labels).toEqual(claim.metadata.labels);
  });

  it('becomes on-demand, on NodeClaim and Node, after the instance has left its reservation', async () => {
    // EC2 reports this instance as an on-demand instance, as after the cancellation of its reservation.
    const bought = await account.provider.create(account.claim(only(CAPACITY_TYPE_LABEL, 'on-demand')));
    const reserved = { ...labels, [CAPACITY_RESERVATION_TYPE_LABEL]: 'default', team: 'a' };
    const claim = account.write({ ...bought, metadata: { ...bought.metadata, labels: reserved } });
    const providerID = present(claim.status?.providerID);
    node(providerID, { ...labels, [REGISTERED_LABEL]: 'true' });
    node(providerID, labels);
    await capacityType();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)?.metadata.labels).toEqual({
      [CAPACITY_TYPE_LABEL]: 'on-demand',
      team: 'a',
    });
    expect(account.kube.find(NODE, { name: 'node-3' })?.metadata.labels).toEqual({
      [CAPACITY_TYPE_LABEL]: 'on-demand',
      [REGISTERED_LABEL]: 'true',
    });
    // Registration will label it.
    expect(account.kube.find(NODE, { name: 'node-2' })?.metadata.labels).toEqual(labels);
  });
});
