/** Findings of the doctor about NodePools that cannot launch nodes. */
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Condition, EC2_NODE_CLASS, NODE_POOL, type NodePool } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { nodeClassOf, nodePoolOf } from '../../../support/awsobjects.ts';
import { CLUSTER, type Examined, examinedWorld } from './support.ts';

let examined: Examined;
beforeAll(async () => {
  examined = await examinedWorld();
  await examined.world.kube.client.create(EC2_NODE_CLASS, nodeClassOf(CLUSTER));
});
afterAll(() => examined.stop());
afterEach(() => examined.world.kube.client.delete(NODE_POOL, { name: 'default' }));

const make = (pool: NodePool) => examined.world.kube.client.create(NODE_POOL, pool);
const only = (key: string, ...values: string[]): NodeClaimRequirement => ({ key, operator: 'In', values });
const found = () => examined.findings('NodePool default');

describe('the finding about a NodePool', () => {
  it('contains the number of usable instance types if the NodePool is valid', async () => {
    await make(nodePoolOf(only('karpenter.k8s.aws/instance-family', 'm5')));
    expect(await found()).toEqual([
      {
        level: 'ok',
        subject: 'NodePool default',
        message: expect.stringMatching(/^uses EC2NodeClass default and can launch \d instance types$/),
      },
    ]);
  });

  it.each<[string, NodeClaimRequirement[], RegExp]>([
    [
      'names no instance type',
      [only('karpenter.k8s.aws/instance-family', 'typo'), only('kubernetes.io/arch', 'amd64')],
      /^cannot launch nodes: no instance type matches its requirements; without karpenter\.k8s\.aws\/instance-family In \[typo\] some instance types would match$/,
    ],
    [
      'names a zone where its EC2NodeClass has no subnet',
      [only('topology.kubernetes.io/zone', 'us-west-2z')],
      /^cannot launch nodes: /,
    ],
    [
      'demands more families than there are',
      [{ ...only('karpenter.k8s.aws/instance-family', 'm5', 'c5', 'typo'), minValues: 3 }],
      /^cannot launch nodes: its instance types have fewer values than minValues of karpenter\.k8s\.aws\/instance-family$/,
    ],
  ])('is an error if the NodePool %s', async (_, requirements, message) => {
    await make(nodePoolOf(...requirements));
    expect(await found()).toMatchObject([
      { level: 'error', message: expect.stringMatching(message), fix: expect.stringContaining('requirements') },
    ]);
  });

  it('is an error if the schedule of a budget cannot be parsed', async () => {
    const pool = nodePoolOf();
    const budgets = [{ nodes: '0', schedule: '0 25 * * *', duration: '8h' }];
    await make({ ...pool, spec: { ...pool.spec, disruption: { consolidateAfter: '0s', budgets } } });
    expect(await found()).toMatchObject([
      { level: 'error', message: expect.stringMatching(/invalid cron schedule "0 25 \* \* \*".*budgets\[0\]/) },
    ]);
  });

  it('contains the reason if the NodePool is not Ready', async () => {
    const { metadata } = await make(nodePoolOf());
    const condition = (type: string, reason: string, message: string): Condition => ({
      type,
      status: 'False',
      reason,
      message,
      lastTransitionTime: '2026-08-01T00:00:00Z',
      observedGeneration: 1,
    });
    const conditions = [
      condition('NodeClassReady', 'UnhealthyDependents', 'AMIsReady=False (AMINotFound: no image)'),
      condition('Ready', 'UnhealthyDependents', 'NodeClassReady=False'),
    ];
    await examined.world.kube.client.patch(NODE_POOL, metadata, { status: { conditions } }, { subresource: 'status' });
    expect(await found()).toMatchObject([
      {
        level: 'error',
        message: 'is not ready: NodeClassReady: UnhealthyDependents: AMIsReady=False (AMINotFound: no image)',
      },
    ]);
  });

  it('names the limits that are reached', async () => {
    const pool = nodePoolOf();
    const { metadata } = await make({ ...pool, spec: { ...pool.spec, limits: { cpu: '10', memory: '100Gi' } } });
    const status = { resources: { cpu: '12', memory: '20Gi' } };
    await examined.world.kube.client.patch(NODE_POOL, metadata, { status }, { subresource: 'status' });
    expect(await found()).toMatchObject([
      { level: 'ok' },
      { level: 'warning', message: 'has reached its limits: cpu 12 of 10' },
    ]);
  });

  it('is a warning if the offerings cannot be read', async () => {
    examined.world.aws.faults.add({
      kind: 'error',
      action: 'DescribeInstanceTypeOfferings',
      code: 'UnauthorizedOperation',
      status: 403,
    });
    await make(nodePoolOf());
    expect(await found()).toMatchObject([
      {
        level: 'warning',
        message: expect.stringMatching(/^its instance types cannot be determined: .*UnauthorizedOperation/),
      },
    ]);
    examined.world.aws.faults.clear();
  });
});
