/** Scheduled events of EC2: planned maintenance until an hour before their start, then an interruption. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, MAINTENANCE_NOT_BEFORE_ANNOTATION, NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { timestamp } from '#lib';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { hasOpenEvent, startOfEvents } from '../../../../src/aws/interruption/scheduled-events.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

let account: Account;
let claim: NodeClaim;
let id: string;

async function open(flags: readonly string[] = []): Promise<void> {
  account = await Account.open({ flags });
  const wanted = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'));
  claim = account.write(await account.provider.create(wanted));
  id = present(instanceIdOfClaim(claim));
  await account.started(id);
  join();
  account.events.length = 0;
}
const join = () =>
  account.kube.put(NODE, {
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: 'node' },
    spec: { providerID: present(claim.status?.providerID) },
  });
const poll = () => account.reconcile('interruption.instancestatus');
const readQueue = async (): Promise<void> => {
  for (let passes = 0; account.aws.queue.size() > 0 && passes < 10; passes++) await account.reconcile('interruption');
};
const noted = (): string | undefined =>
  account.kube.find(NODE, { name: 'node' })?.metadata.annotations?.[MAINTENANCE_NOT_BEFORE_ANNOTATION];
const isThere = (): boolean => account.kube.find(NODE_CLAIM, claim.metadata) !== undefined;
const reasons = (): readonly string[] => [...new Set(account.events.map(({ reason }) => reason))];
const version = () => account.kube.find(NODE, { name: 'node' })?.metadata.resourceVersion;

afterEach(() => account.close());

describe('a scheduled event', () => {
  beforeEach(() => open());

  it.each<[string, () => Promise<unknown>]>([
    ['AWS Health', readQueue],
    ['DescribeInstanceStatus', poll],
  ])('is recorded once on the Node, and keeps the NodeClaim, if %s reports it', async (_, read) => {
    const start = timestamp(account.clock.now() + 24 * HOUR);
    account.aws.faults.scheduleChange(id);
    await read();
    expect(Math.abs(Date.parse(noted() ?? '') - Date.parse(start))).toBeLessThan(MINUTE);
    expect(reasons()).toEqual(['MaintenanceScheduled']);
    expect(account.events.map(({ object }) => object.kind).sort()).toEqual(['Node', 'NodeClaim']);
    const before = version();
    await poll();
    await poll();
    expect(version()).toBe(before);
    expect(isThere()).toBe(true);
  });

  it('is an interruption an hour before its start', async () => {
    account.aws.faults.scheduleChange(id);
    await poll();
    account.clock.forward(23 * HOUR - 2 * MINUTE);
    await poll();
    expect(isThere()).toBe(true);
    account.clock.forward(3 * MINUTE);
    await poll();
    expect(isThere()).toBe(false);
    expect(reasons()).toContain('TerminatingOnInterruption');
  });

  it('is an interruption immediately if the node has not registered', async () => {
    account.kube.remove(NODE, { name: 'node' });
    account.aws.faults.scheduleChange(id);
    await poll();
    expect(isThere()).toBe(false);
  });

  it('is forgotten five minutes after its cancellation, also by another leader', async () => {
    account.aws.faults.scheduleChange(id);
    await readQueue();
    await account.restart();
    account.aws.faults.recover(id);
    await poll();
    account.clock.forward(4 * MINUTE);
    await poll();
    expect(noted()).toBeDefined();
    account.clock.forward(2 * MINUTE);
    await poll();
    expect(noted()).toBeUndefined();
    expect(isThere()).toBe(true);
  });

  it('stays recorded if EC2 reports it again within five minutes', async () => {
    account.aws.faults.scheduleChange(id);
    await readQueue();
    account.aws.faults.recover(id);
    await poll();
    account.clock.forward(4 * MINUTE);
    account.aws.faults.scheduleChange(id);
    await poll();
    account.aws.faults.recover(id);
    account.clock.forward(4 * MINUTE);
    await poll();
    expect(noted()).toBeDefined();
  });

  it('is an interruption before its start without the permission to describe the status', async () => {
    account.aws.faults.scheduleChange(id);
    await readQueue();
    account.aws.faults.add({ kind: 'error', action: 'DescribeInstanceStatus', code: 'UnauthorizedOperation' });
    await poll();
    expect(isThere()).toBe(true);
    account.clock.forward(23 * HOUR + MINUTE);
    await poll();
    expect(isThere()).toBe(false);
    expect(account.lines.filter(({ message }) => message.startsWith('not authorized to call'))).toHaveLength(1);
  });

  it('has no effect if AWS Health reports its end', async () => {
    account.aws.queue.send({
      version: '0',
      source: 'aws.health',
      'detail-type': 'AWS Health Event',
      time: timestamp(account.clock.now()),
      detail: {
        service: 'EC2',
        eventTypeCategory: 'scheduledChange',
        statusCode: 'closed',
        startTime: new Date(account.clock.now() - HOUR).toUTCString(),
        affectedEntities: [{ entityValue: id }],
      },
    });
    await readQueue();
    expect([isThere(), noted()]).toEqual([true, undefined]);
  });
});

it.each<[string, () => Promise<unknown>]>([
  ['AWS Health', readQueue],
  ['DescribeInstanceStatus', poll],
])('a scheduled event is an interruption immediately with the setting, if %s reports it', async (_, read) => {
  await open(['--scheduled-events=interruption']);
  account.aws.faults.scheduleChange(id);
  await read();
  expect(isThere()).toBe(false);
  expect(reasons()).toEqual(['InstanceUnhealthy', 'TerminatingOnInterruption']);
});

describe('startOfEvents', () => {
  const NotBefore = new Date('2026-06-03T12:00:00Z');
  const event = (Description: string, hours = 0) => ({
    Description,
    NotBefore: new Date(NotBefore.getTime() + hours * HOUR),
  });

  it('returns the earliest start of the events that have not ended', () => {
    const events = [
      event('[Completed] reboot', -5),
      event('retirement', 3),
      event('reboot'),
      event('[Canceled] stop', -1),
    ];
    expect(startOfEvents(events)).toBe(NotBefore.getTime());
    expect(hasOpenEvent(events)).toBe(true);
  });

  it.each([
    ['there are no events', undefined],
    ['all events have ended', [event('[Completed] reboot'), event('[Canceled] stop')]],
  ])('returns undefined if %s', (_, events) => {
    expect(startOfEvents(events)).toBeUndefined();
    expect(hasOpenEvent(events)).toBe(false);
  });
});
