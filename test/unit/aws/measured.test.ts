import { describe, expect, it } from '@jest/globals';
import type { NodeClaim } from '#api/objects';
import { type CloudProvider, InsufficientCapacity, NodeClaimNotFound, NodeClassNotReady } from '#cloud';
import { inController } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { awsMetrics, measuredProvider } from '../../../src/aws/metrics.ts';

const hook = { name: 'Hook', ask: async () => ({ done: true }) as const };

/** Returns a provider whose `get` fails with the error. */
const provider = (error?: Error): CloudProvider => {
  const nothing = async (): Promise<never> => {
    throw error ?? new Error('not in this test');
  };
  return {
    name: 'aws',
    nodeClassKinds: [],
    repairPolicies: [],
    registrationHooks: [hook],
    instanceTypes: async () => [],
    create: nothing,
    reboot: nothing,
    delete: nothing,
    get: nothing,
    list: async () => [] as readonly NodeClaim[],
    isDrifted: async () => undefined,
  };
};

describe('the measured provider', () => {
  it('names the calling controller', async () => {
    const metrics = createMetrics();
    const cloud = measuredProvider(provider(), awsMetrics(metrics));
    await inController('nodeclaim.garbagecollection', () => cloud.list());
    await cloud.list();
    const text = await metrics.text();
    for (const controller of ['nodeclaim.garbagecollection', ''])
      expect(text).toContain(
        `karpenter_cloudprovider_duration_seconds_count{controller="${controller}",method="List",provider="aws"} 1`,
      );
  });

  it.each([
    [new NodeClaimNotFound('gone'), 'NodeClaimNotFoundError'],
    [new NodeClassNotReady('not yet'), 'NodeClassNotReadyError'],
    [new Error('launching', { cause: new InsufficientCapacity('none left') }), 'InsufficientCapacityError'],
    [new Error('of another sort'), ''],
  ])('counts %s as "%s"', async (error, kind) => {
    const metrics = createMetrics();
    const cloud = measuredProvider(provider(error), awsMetrics(metrics));
    await expect(inController('node.termination', () => cloud.get('aws:///zone/i-1'))).rejects.toBe(error);
    expect(await metrics.text()).toContain(
      `karpenter_cloudprovider_errors_total{controller="node.termination",method="Get",provider="aws",error="${kind}"} 1`,
    );
  });

  it('keeps the hooks', () => {
    expect(measuredProvider(provider(), awsMetrics(createMetrics())).registrationHooks).toEqual([hook]);
  });
});
