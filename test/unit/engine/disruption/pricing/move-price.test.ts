/** Comparison of the savings of a move with its price. */
import { describe, expect, it } from '@jest/globals';
import type { Pod, Taint } from '../../../../../src/api/kubernetes.ts';
import {
  DELETION_COST_ANNOTATION,
  DELETION_COST_SINCE_ANNOTATION,
  EMPTYING_TAINT,
} from '../../../../../src/api/labels.ts';
import type { Candidate } from '../../../../../src/engine/disruption/command.ts';
import { candidateOf, isBlock } from '../../../../../src/engine/disruption/pass.ts';
import { forecastsOf, notWorthMoving } from '../../../../../src/engine/disruption/pricing/move-price.ts';
import type { PlannedClaim, StateNode } from '../../../../../src/engine/model.ts';
import { at, claim, instanceType, NOW, pod, pool, stateNode } from '../objects.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const GI = 1024 ** 3;

/** On-demand nodes of 2 vCPUs and 8 GiB for $0.1 an hour. The pods use more of their CPU than of their memory. */
const large = instanceType('m.large', 2, 0.1);
const onDemand = {
  ...large,
  offerings: large.offerings.filter(({ usdPerHour }) => usdPerHour === 0.1),
};
const pools = new Map([['default', { nodePool: pool(), instanceTypes: [onDemand] }]]);

interface PodShape {
  readonly owner?: 'ReplicaSet' | 'Job' | undefined;
  readonly cpu?: string;
  readonly ageMs?: number;
}

const running = (name: string, { owner = 'ReplicaSet', cpu = '100m', ageMs = HOUR }: PodShape = {}): Pod =>
  pod(name, {
    metadata: { ownerReferences: [{ apiVersion: 'x', kind: owner, name: 'owner', uid: 'owner', controller: true }] },
    spec: { containers: [{ name: 'main', resources: { requests: { cpu, memory: '256Mi' } } }] },
    status: { phase: 'Running', startTime: at(NOW - ageMs) },
  });

interface Shape {
  readonly pods: readonly Pod[];
  readonly ageMs?: number;
  readonly taints?: readonly Taint[];
}

function node(name: string, { pods, ageMs = HOUR, taints = [] }: Shape): StateNode {
  const base = stateNode(name);
  const nodeClaim = base.nodeClaim ?? claim(name);
  const metadata = { ...nodeClaim.metadata, creationTimestamp: Number.isNaN(ageMs) ? '' : at(NOW - ageMs) };
  const allocatable = { cpu: 2000, memory: 8 * GI, pods: 58 };
  return stateNode(name, { pods, claim: { ...nodeClaim, metadata }, state: { taints, allocatable } });
}

function candidate(shape: Shape): Candidate {
  const found = candidateOf(node('node-1', shape), {
    nowMs: NOW,
    class: 'graceful',
    inProgress: new Set(),
    pools,
    podDisruptionBudgets: [],
  });
  if (isBlock(found)) throw new Error(found.text);
  return found;
}

interface Question extends Shape {
  readonly savedUsdPerHour?: number;
  readonly replacements?: readonly PlannedClaim[];
  readonly evictionUsd?: number;
  readonly poolAgeMs?: number;
}

function verdict({ savedUsdPerHour, replacements = [], evictionUsd = 0.002, poolAgeMs, ...shape }: Question) {
  const found = candidate(shape);
  const nodes = [node('node-1', { ...shape, ageMs: poolAgeMs ?? shape.ageMs ?? HOUR })];
  const forecasts = forecastsOf(nodes, pools, { nowMs: NOW, evictionUsd });
  return notWorthMoving({ candidates: [found], replacements }, savedUsdPerHour ?? found.usdPerHour, {
    nowMs: NOW,
    forecasts,
  });
}

const marked = (agoMs: number): readonly Taint[] => [{ ...EMPTYING_TAINT, timeAdded: at(NOW - agoMs) }];

describe('a move', () => {
  it('pays if the saving lasts for long enough', () => {
    expect(verdict({ pods: [running('a')] })).toBeUndefined();
    expect(verdict({ pods: [running('a')], ageMs: MINUTE })?.code).toBe('not-worth-moving');
  });

  it('has a reason with the calculation', () => {
    // a fifth of the CPU moves to room that is worth $0.02 an hour: $0.08 for a minute; a minute of a fifth of $0.1
    const pods = [running('a', { cpu: '400m' })];
    expect(verdict({ pods, ageMs: MINUTE })).toEqual({
      code: 'not-worth-moving',
      text: 'saves $0.0800/h for an expected 1 min = $0.0013; moving 1 pod costs $0.0023',
    });
  });

  it('does not count room on existing nodes as free', () => {
    expect(verdict({ pods: [running('a', { cpu: '2000m' })] })?.code).toBe('not-worth-moving');
    expect(verdict({ pods: [running('a', { cpu: '1000m' })] })).toBeUndefined();
  });

  it('takes no room on existing nodes if the pods move to a replacement', () => {
    const replacement = { pods: ['default/a'], nodePool: 'default', usdPerHour: 0.05 } as unknown as PlannedClaim;
    const question = { pods: [running('a', { cpu: '1600m' })], savedUsdPerHour: 0.05 };
    expect(verdict(question)?.code).toBe('not-worth-moving');
    expect(verdict({ ...question, replacements: [replacement] })).toBeUndefined();
  });

  it('loses the work of Jobs, and counts it twice', () => {
    const job = { owner: 'Job', cpu: '800m', ageMs: HOUR } as const;
    // 40 % of the node for two hours: $0.08; the saving of $0.06 an hour lasts for an hour
    expect(verdict({ pods: [running('a', job)] })?.text).toMatch(/= \$0\.0600; moving 1 pod costs \$0\.0827/);
    expect(verdict({ pods: [running('a', { ...job, owner: 'ReplicaSet' })] })).toBeUndefined();
  });

  it('saves no longer than the Jobs of the node are expected to run', () => {
    const job = { owner: 'Job', cpu: '100m', ageMs: MINUTE } as const;
    expect(verdict({ pods: [running('a', job)], ageMs: 10 * HOUR })?.text).toContain('for an expected 1 min');
    const pods = [running('a', job), running('b')];
    expect(verdict({ pods, ageMs: 10 * HOUR })).toBeUndefined();
  });

  it('costs more the more pods are evicted', () => {
    const pods = ['a', 'b', 'c', 'd'].map((name) => running(name));
    expect(verdict({ pods })).toBeUndefined();
    expect(verdict({ pods, evictionUsd: 0.03 })?.text).toContain('moving 4 pods costs $0.12');
  });

  it('is not compared with its price ten minutes after the node was marked', () => {
    const question = { pods: [running('a')], ageMs: 30 * MINUTE, evictionUsd: 1 };
    expect(verdict({ ...question, taints: marked(10 * MINUTE) })).toBeUndefined();
    expect(verdict({ ...question, taints: marked(4 * MINUTE) })?.nearestMiss).toBe(
      'emptying since 4 min, because its pods fit elsewhere; in 6 min the price no longer counts',
    );
    const [pod] = question.pods;
    const annotations = { [DELETION_COST_ANNOTATION]: '-1', [DELETION_COST_SINCE_ANNOTATION]: at(NOW) };
    const first = { ...running('a'), metadata: { ...pod?.metadata, name: 'a', annotations } };
    expect(verdict({ ...question, pods: [first, running('b')], taints: marked(4 * MINUTE) })?.nearestMiss).toBe(
      'emptying since 4 min, because its pods fit elsewhere, and scale-downs delete 1 of its pods first; in 6 min the price no longer counts',
    );
    // but the room that the pods take still counts
    const full = { ...question, savedUsdPerHour: 0.05, pods: [running('a', { cpu: '2000m' })] };
    expect(verdict({ ...full, taints: marked(10 * MINUTE) })?.code).toBe('not-worth-moving');
  });

  it('is not compared if the price of the node is unknown', () => {
    const found = { ...candidate({ pods: [running('a')] }), usdPerHour: 0 };
    const forecasts = forecastsOf([node('node-1', { pods: [running('a')] })], pools, { nowMs: NOW, evictionUsd: 1 });
    expect(notWorthMoving({ candidates: [found], replacements: [] }, 0, { nowMs: NOW, forecasts })).toBeUndefined();
  });

  it('is not compared without steering', () => {
    const command = { candidates: [candidate({ pods: [running('a')], ageMs: 0 })], replacements: [] };
    expect(notWorthMoving(command, 0.0001, { nowMs: NOW })).toBeUndefined();
  });

  it('can be compared although a pod of the NodePool is not valid', () => {
    expect(verdict({ pods: [running('a'), running('b', { cpu: 'much' })] })).toBeUndefined();
  });

  it('does not pay while the age of the nodes is unknown', () => {
    expect(verdict({ pods: [running('a')], poolAgeMs: Number.NaN })?.code).toBe('not-worth-moving');
  });
});
