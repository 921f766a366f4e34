/** The launcher keeps a bounded number of filtered lists of instance types. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, type NodeClaim, ZONE_LABEL } from '#api/objects';
import type { InstanceType } from '#engine/model';
import { LAUNCHES_KEPT, LaunchChoices } from '../../../../src/aws/fleet/launch-choice.ts';

const only = (key: string, value: string) => ({ key, operator: 'In', values: [value] }) as const;

const TYPES: readonly InstanceType[] = [
  {
    name: 'm5.large',
    requirements: [only(INSTANCE_TYPE_LABEL, 'm5.large')],
    capacity: { cpu: 2_000 },
    overhead: { kubeReserved: {}, systemReserved: {}, evictionThreshold: {} },
    offerings: [
      { requirements: [only(CAPACITY_TYPE_LABEL, 'spot'), only(ZONE_LABEL, 'a')], usdPerHour: 1, available: true },
    ],
  },
];

const claim = (cpu: string, team = 'a'): NodeClaim => ({
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: cpu },
  spec: {
    nodeClassRef: { group: '', kind: '', name: 'default' },
    requirements: [only('team', team)],
    resources: { requests: { cpu } },
  },
});

describe('LaunchChoices', () => {
  const choose = (choices: LaunchChoices, of: NodeClaim, offered = TYPES) =>
    choices.choose(of, offered, choices.requirementsOf(of));

  it('filters once for NodeClaims with equal requirements and requests, until the offered types change', () => {
    const choices = new LaunchChoices();
    const first = choose(choices, claim('1'));
    expect(first.types.map(({ name }) => name)).toEqual(['m5.large']);
    expect(choose(choices, claim('1'))).toBe(first);
    expect(choices.requirementsOf(claim('2')).requirements).toBe(choices.requirementsOf(claim('1')).requirements);
    expect(choose(choices, claim('3')).types).toEqual([]);
    expect(choose(choices, claim('1'), [...TYPES])).not.toBe(first);
  });

  it.each([
    ['requests', (at: number) => claim(`${at}m`)],
    ['requirements', (at: number) => claim('1', `team-${at}`)],
  ])('keeps a bounded number of launches that differ in %s, the latest ones', (_, distinct) => {
    const choices = new LaunchChoices();
    const oldest = choose(choices, distinct(1));
    for (let at = 2; at <= 500; at += 1) choose(choices, distinct(at));
    const latest = choose(choices, distinct(500));
    expect(choices.size).toBe(LAUNCHES_KEPT);
    expect(choose(choices, distinct(500))).toBe(latest);
    expect(choose(choices, distinct(1))).not.toBe(oldest);
  });
});
