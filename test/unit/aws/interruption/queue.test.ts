import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

let account: Account;
let claim: NodeClaim;
let id: string;

beforeEach(async () => {
  account = await Account.open();
  const wanted = account.claim(only(INSTANCE_TYPE_LABEL, 'm5.large'), only(CAPACITY_TYPE_LABEL, 'spot'));
  claim = account.write(await account.provider.create(wanted));
  id = present(instanceIdOfClaim(claim));
  account.events.length = 0;
});
afterEach(() => account.close());

/** Reads the queue until it is empty, because state changes of the launch may arrive first. */
async function drain(): Promise<void> {
  for (let passes = 0; account.aws.queue.size() > 0 && passes < 10; passes++) await account.reconcile('interruption');
}

describe('the interruption queue', () => {
  it('deletes the claim of an interrupted spot instance and avoids its offering', async () => {
    account.aws.faults.interrupt(id);
    await drain();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeUndefined();
    expect(account.events.map(({ reason }) => reason)).toEqual(
      expect.arrayContaining(['SpotInterrupted', 'TerminatingOnInterruption']),
    );
    const line = account.lines.find(({ message }) => message === 'initiating delete from interruption message');
    expect(line?.fields).toMatchObject({ messageKind: 'spot_interrupted', action: 'CordonAndDrain' });
    expect(await account.metricsText()).toContain(
      'karpenter_interruption_received_messages_total{message_type="spot_interrupted"} 1',
    );
    expect(account.lines.some(({ fields }) => fields.reason === 'spot_interrupted')).toBe(true);
  });

  it('reports a rebalance recommendation and keeps the NodeClaim', async () => {
    account.aws.faults.recommendRebalance(id);
    await drain();
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeDefined();
    expect(account.events.map(({ reason }) => reason)).toEqual(['SpotRebalanceRecommendation']);
  });

  it('deletes malformed messages, ignores unknown messages and continues', async () => {
    account.aws.queue.send('{ this is no JSON');
    account.aws.queue.send({ version: '0', source: 'aws.ec2', 'detail-type': 'Something new', detail: {} });
    account.aws.queue.send({
      version: '0',
      source: 'aws.ec2',
      'detail-type': 'EC2 Spot Instance Interruption Warning',
      time: new Date(account.clock.now()).toISOString(),
      detail: { 'instance-id': 'i-0aaaaaaaaaaaaaaaa' },
    });
    account.aws.faults.interrupt(id);
    await drain();
    expect(account.aws.queue.size()).toBe(0);
    expect(account.lines.filter(({ message }) => message === 'failed parsing interruption message')).toHaveLength(1);
    expect(await account.metricsText()).toContain(
      'karpenter_interruption_received_messages_total{message_type="no_op"}',
    );
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeUndefined();
  });

  it('keeps a message if its handling fails', async () => {
    account.kube.beforeWrite = (operation) => {
      if (operation === 'delete nodeclaims') throw new Error('the API server is away');
    };
    account.aws.faults.interrupt(id);
    await expect(drain()).rejects.toThrow('the API server is away');
    expect(account.aws.queue.size()).toBeGreaterThan(0);
  });

  it('ends an instance forcefully if it fails its status checks', async () => {
    // EC2 checks the status of running instances only.
    await account.started(id);
    account.aws.faults.impair(id);
    account.clock.forward(3 * 60_000);
    await account.reconcile('interruption.instancestatus');
    await account.reconcile('interruption.instancestatus');
    expect(account.kube.find(NODE_CLAIM, claim.metadata)).toBeUndefined();
    expect(await account.metricsText()).toContain(
      'karpenter_interruption_instance_status_unhealthy_total{category="InstanceStatus"} 1',
    );
  });
});
