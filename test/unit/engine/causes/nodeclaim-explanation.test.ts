import { describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  INSTANCE_CATEGORY_LABEL,
  INSTANCE_TYPE_LABEL,
  NODEPOOL_LABEL,
  type NodeClaim,
  ZONE_LABEL,
} from '#api/objects';
import type { LaunchAnswer } from '../../../../src/engine/causes/launch-alternatives.ts';
import { explainNodeClaim } from '../../../../src/engine/causes/nodeclaim-explanation.ts';
import type { InstanceType } from '../../../../src/engine/model.ts';
import type { LaunchFailure } from '../../../../src/engine/node-join.ts';
import { instanceType, nodePool, offering, oneOf } from '../build.ts';

const MINUTE = 60_000;
const category = (value: string) => ({ requirements: [oneOf(INSTANCE_CATEGORY_LABEL, value)] });
const sold = (name: string, usd: number, available = true): InstanceType =>
  instanceType(name, { ...category('m'), offerings: [offering('on-demand', 'zone-a', usd, available)] });
const TYPES: readonly InstanceType[] = [
  sold('m-chosen', 0.4),
  sold('m-gone', 0.1, false),
  sold('m-refused', 0.2),
  sold('m-later', 0.25),
  sold('m-dear', 0.5),
  instanceType('t-cheap', { ...category('t'), offerings: [offering('on-demand', 'zone-a', 0.05)] }),
  instanceType('m-spot', { ...category('m'), offerings: [offering('spot', 'zone-a', 0.15)] }),
  instanceType('m-far', { ...category('m'), offerings: [offering('on-demand', 'zone-b', 0.35)] }),
  instanceType('m-tiny', { ...category('m'), cpu: 1, usd: 0.01 }),
];
const POOL = nodePool('default', { requirements: [oneOf(INSTANCE_CATEGORY_LABEL, 'm')] });

const claimWith = (
  conditions: readonly (readonly [type: string, status: 'True' | 'Unknown'])[],
  since = 0,
): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: {
    name: 'default-x',
    labels: {
      ...{ [NODEPOOL_LABEL]: 'default', [INSTANCE_TYPE_LABEL]: 'm-chosen' },
      ...{ [ZONE_LABEL]: 'zone-a', [CAPACITY_TYPE_LABEL]: 'on-demand' },
    },
  },
  spec: {
    nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
    resources: { requests: { cpu: '2' } },
    requirements: [
      oneOf(ZONE_LABEL, 'zone-a'),
      oneOf(CAPACITY_TYPE_LABEL, 'on-demand', 'spot'),
      oneOf(INSTANCE_TYPE_LABEL, 'm-chosen', 'm-gone', 'm-refused', 'm-dear', 'm-spot'),
    ] as NodeClaim['spec']['requirements'],
  },
  status: {
    providerID: 'aws:///zone-a/i-1',
    conditions: conditions.map(([type, status]) => ({
      ...{ type, status, reason: type, message: '' },
      lastTransitionTime: new Date(since).toISOString(),
    })),
  },
});

const ANSWER: LaunchAnswer = {
  requestedTypes: 4,
  capacityType: 'on-demand',
  launched: { id: 'i-1', instanceType: 'm-chosen', zone: 'zone-a' },
  errors: [{ instanceType: 'm-refused', zone: 'zone-a', text: 'InsufficientInstanceCapacity: none left' }],
};

const explained = (claim: NodeClaim, nowMs: number, failure?: LaunchFailure) =>
  explainNodeClaim({
    claim,
    pool: POOL,
    types: TYPES,
    chargesUsdPerHour: 0,
    answer: ANSWER,
    pods: ['default/b', 'default/a'],
    nowMs,
    failure,
  });

describe('the explanation of a NodeClaim', () => {
  it('lists the cheapest offerings within the requirements, why each was not chosen, and groups the others', () => {
    const { alternatives, excluded, launched, pods } = explained(claimWith([['Registered', 'True']]), 0);
    expect(launched).toEqual({ instanceType: 'm-chosen', zone: 'zone-a', capacityType: 'on-demand', usdPerHour: 0.4 });
    expect(pods).toEqual(['default/a', 'default/b']);
    expect(alternatives.map(({ instanceType: name, code, text }) => [name, code, text])).toEqual([
      ['m-gone', 'sold-out', 'the offering is out of capacity or not available now'],
      ['m-spot', 'capacity-type', 'the launch requested on-demand capacity'],
      ['m-refused', 'cloud', 'EC2 answered InsufficientInstanceCapacity: none left'],
      ['m-later', 'not-requested', 'the type was not among the types of the NodeClaim when it was created'],
      ['m-dear', 'price', 'the offering does not cost less'],
    ]);
    expect(excluded).toEqual([
      {
        ...{ code: 'nodepool', text: 'the NodePool allows instance category m', offerings: 1 },
        cheapest: { instanceType: 't-cheap', zone: 'zone-a', capacityType: 'on-demand', usdPerHour: 0.05 },
      },
      {
        ...{ code: 'pods', text: 'the pods require zone zone-a', offerings: 1 },
        cheapest: { instanceType: 'm-far', zone: 'zone-b', capacityType: 'on-demand', usdPerHour: 0.35 },
      },
    ]);
  });

  it('gives the reason for the capacity type', () => {
    expect(explained(claimWith([]), 0).capacityType).toBe(
      'on-demand, because no spot or reserved offering could be launched (now: spot from $0.1500/h, on-demand from $0.2000/h)',
    );
  });

  it('shows the progress of a node that has not joined, with checks after two minutes', () => {
    const claim = claimWith([['Launched', 'True']]);
    expect(explained(claim, MINUTE).join).toMatchObject({
      ...{ stage: 'registering', since: '1970-01-01T00:00:00Z', deadline: '1970-01-01T00:15:00Z', checks: [] },
      text: expect.stringContaining(
        'instance i-1 was launched 1m0s ago, and its Node has not appeared in the cluster;',
      ),
    });
    const late = explained(claim, 3 * MINUTE).join;
    expect(late?.checks.map(({ code }) => code)).toEqual(['user-data', 'role', 'security-group', 'route', 'ami']);
    expect(late?.checks[0]?.command).toBe('aws ec2 get-console-output --latest --instance-id i-1 --output text');
  });

  it('shows the error of a launch that is repeated', () => {
    const claim = claimWith([['Launched', 'Unknown']]);
    expect(explained(claim, MINUTE).join).toMatchObject({ stage: 'launching', deadline: '1970-01-01T00:05:00Z' });
  });

  it('has no progress after the registration', () => {
    expect(
      explained(
        claimWith([
          ['Launched', 'True'],
          ['Registered', 'True'],
        ]),
        MINUTE,
      ).join,
    ).toBeUndefined();
  });

  it('shows the last error of EC2 and the time of the next attempt', () => {
    const claim = claimWith([['Launched', 'Unknown']]);
    const failure = { text: 'SpotMaxPriceTooLow: no', nextMs: MINUTE + 8_000 };
    const { join } = explained(claim, MINUTE, failure);
    expect(join).toMatchObject({
      nextAttempt: '1970-01-01T00:01:08Z',
      text: 'the instance has not been launched for 1m0s (SpotMaxPriceTooLow: no); the next attempt is at 1970-01-01T00:01:08Z; the NodeClaim is deleted at 1970-01-01T00:05:00Z',
    });
  });

  it.each([
    ['StartupTaintsExist', 'StartupTaint "a:NoSchedule" still exists', 'the component that the taint waits for'],
    ['KnownEphemeralTaintsExist', 'KnownEphemeralTaint "b:NoSchedule" still exists', 'the kubelet or the cloud'],
    ['NodeNotReady', 'Node status is NotReady', 'the conditions of the Node have the reason'],
    ['ResourceNotRegistered', 'Resource "gpu" was requested but not registered', 'the device plugin'],
    ['DRADriverPoolsNotPublished', 'DRA driver "d" has not published a complete resource pool', 'the driver must'],
  ])('shows since when %s keeps a registered node from its initialization', (reason, message, remedy) => {
    const claim = claimWith([
      ['Launched', 'True'],
      ['Registered', 'True'],
    ]);
    const conditions = [
      ...(claim.status?.conditions ?? []),
      {
        type: 'Initialized',
        status: 'Unknown' as const,
        reason,
        message,
        lastTransitionTime: new Date(0).toISOString(),
      },
    ];
    const { join } = explained({ ...claim, status: { ...claim.status, nodeName: 'node-1', conditions } }, 12 * MINUTE);
    expect(join?.stage).toBe('initializing');
    expect(join?.deadline).toBeUndefined();
    expect(join?.text).toContain(
      `node node-1 has been registered for 12m0s but is not initialized: ${message}; ${remedy}`,
    );
  });
});
