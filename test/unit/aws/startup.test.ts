/** AWS requests in the first minute. Each request is sent once. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS } from '#api/objects';
import { NodeClaimNotFound } from '#cloud';
import { present } from '../../support/present.ts';
import { Account } from './support/account.ts';

let account: Account;
beforeEach(async () => {
  account = await Account.open({ stopDelayMs: 500 });
});
afterEach(() => account.close());

const callsOf = (action: string): number => account.aws.calls.counts()[action] ?? 0;

describe('the list of instance types', () => {
  it('is requested once at start and again after half a day', async () => {
    await account.restart();
    const pages = callsOf('DescribeInstanceTypes');
    const offeringPages = callsOf('DescribeInstanceTypeOfferings');
    expect(pages).toBeGreaterThan(1);
    const first = await account.reconcile('providers.instancetype');
    expect(callsOf('DescribeInstanceTypes')).toBe(pages);
    expect(callsOf('DescribeInstanceTypeOfferings')).toBe(offeringPages);
    if (first.kind !== 'after') throw new Error('the controller does not come back');
    expect(first.waitMs).toBeGreaterThan(11.9 * 3_600_000);
    expect(first.waitMs).toBeLessThanOrEqual(12 * 3_600_000);

    account.clock.forward(first.waitMs + 1);
    await account.reconcile('providers.instancetype');
    // All requests except the probe at the start are repeated.
    expect(callsOf('DescribeInstanceTypes')).toBe(2 * pages - 1);
  });
});

describe('an offering metric', () => {
  it('waits without a log line for a NodeClass that is not ready', async () => {
    const nodeClass = account.nodeClass();
    const { status: _, ...fresh } = nodeClass;
    account.kube.put(EC2_NODE_CLASS, fresh);
    await account.restart();
    account.lines.length = 0;
    expect(await account.reconcile('cloudprovider.metrics')).toEqual({ kind: 'after', waitMs: 60_000 });
    expect(account.lines.filter(({ level }) => level === 'error')).toEqual([]);
    expect(await account.metricsText()).not.toContain('offering_available{');

    account.kube.put(EC2_NODE_CLASS, nodeClass);
    expect(await account.reconcile('cloudprovider.metrics')).toEqual({ kind: 'after', waitMs: 60_000 });
    expect(await account.metricsText()).toContain('karpenter_cloudprovider_instance_type_offering_available{');
  });
});

describe('validation', () => {
  it('is not repeated after this process has written its hashes', async () => {
    const { metadata, ...rest } = account.nodeClass();
    const annotations = {
      ...metadata.annotations,
      'karpenter.k8s.aws/ec2nodeclass-hash': '1',
      'karpenter.k8s.aws/ec2nodeclass-hash-version': 'v6',
    };
    account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { ...metadata, annotations } });
    await account.reconcileNodeClass();
    expect(callsOf('CreateFleet')).toBe(0);
    // An annotation of a user may request another validation.
    const own = { ...annotations, 'example.com/look': 'again' };
    account.kube.put(EC2_NODE_CLASS, { ...rest, metadata: { ...metadata, annotations: own } });
    await account.reconcileNodeClass();
    expect(callsOf('CreateFleet')).toBe(1);
  });
});

describe('a terminating instance', () => {
  it('is requested once a second for all waiting callers, and not after it has terminated', async () => {
    const claim = account.write(await account.provider.create(account.claim()));
    const providerId = present(claim.status?.providerID);
    await account.started(present(providerId.split('/').at(-1)));
    account.aws.calls.clear();
    // The instance is running, then terminating. The third caller receives the result of the second request.
    for (let n = 0; n < 3; n++) await account.provider.delete(claim);
    expect(callsOf('DescribeInstances')).toBe(2);
    expect(callsOf('TerminateInstances')).toBe(1);
    await expect(
      (async () => {
        for (let n = 0; n < 50; n++) {
          await account.provider.delete(claim);
          account.clock.forward(1_001);
        }
      })(),
    ).rejects.toThrow(NodeClaimNotFound);
    const gone = callsOf('DescribeInstances');
    await expect(account.provider.delete(claim)).rejects.toThrow(NodeClaimNotFound);
    await expect(account.provider.get(providerId)).rejects.toThrow(NodeClaimNotFound);
    expect(callsOf('DescribeInstances')).toBe(gone);
    expect(callsOf('TerminateInstances')).toBe(1);
  });
});
