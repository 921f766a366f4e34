/** A pod with a nominated node waits only for a preemption of kube-scheduler. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Condition, DISRUPTED_TAINT, type Pod, type Taint } from '#api/objects';
import type { StateNode } from '../../../src/engine/model.ts';
import { type Preemption, preemptionFor } from '../../../src/engine/preemption.ts';
import { at, NOW, pod, stateNode } from './disruption/objects.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const PREEMPTED: Condition = { type: 'DisruptionTarget', status: 'True', reason: 'PreemptionByScheduler' };
const EVICTED: Condition = { type: 'DisruptionTarget', status: 'True', reason: 'EvictionByEvictionAPI' };

interface Waiting {
  readonly priority?: number;
  readonly cpu?: string;
  readonly refusedMs?: number;
  readonly conditions?: readonly Condition[];
}

/** An unschedulable pod with a nominated node. By default, kube-scheduler refused it a minute ago. */
function waiting({ priority = 10, cpu = '2', refusedMs = NOW - MINUTE, conditions }: Waiting = {}): Pod {
  const refused = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable', lastTransitionTime: at(refusedMs) };
  return {
    ...pod('waiting', { status: { phase: 'Pending', nominatedNodeName: 'node-1' } }),
    spec: { priority, containers: [{ name: 'main', resources: { requests: { cpu } } }] },
    status: { phase: 'Pending', nominatedNodeName: 'node-1', conditions: conditions ?? [refused as Condition] },
  };
}

interface Running {
  readonly priority?: number;
  readonly cpu?: string;
  readonly graceSeconds?: number;
  /** Time until the end of the grace period. Undefined if the pod is not being deleted. */
  readonly leavesInMs?: number | undefined;
  readonly condition?: Condition | undefined;
}

function running({ priority = 0, cpu = '3', graceSeconds, leavesInMs, condition }: Running): Pod {
  return pod(`running-${priority}`, {
    metadata: leavesInMs === undefined ? {} : { deletionTimestamp: at(NOW + leavesInMs) },
    spec: {
      priority,
      nodeName: 'node-1',
      containers: [{ name: 'main', resources: { requests: { cpu } } }],
      ...(graceSeconds === undefined ? {} : { terminationGracePeriodSeconds: graceSeconds }),
    },
    status: { phase: 'Running', conditions: condition === undefined ? [] : [condition] },
  });
}

const VICTIM: Running = { leavesInMs: 20 * SECOND, condition: PREEMPTED };

/** A node with 4 vCPUs. */
function nodeWith(pods: readonly Pod[], taints: readonly Taint[] = [], state: Partial<StateNode> = {}): StateNode {
  const base = stateNode('node-1', { pods, state: { allocatable: { cpu: 4_000, pods: 110 }, ...state } });
  return base.node === undefined ? base : { ...base, node: { ...base.node, spec: { ...base.node.spec, taints } } };
}

describe('a pod with a nominated node', () => {
  it.each<[string, Pod, StateNode | undefined, Preemption | undefined]>([
    ['waits while a preempted pod terminates', waiting(), nodeWith([running(VICTIM)]), 'running'],
    [
      'waits up to a minute after the grace period',
      waiting(),
      nodeWith([running({ ...VICTIM, leavesInMs: -59_000 })]),
      'running',
    ],
    [
      'waits for kube-scheduler to delete pods',
      waiting({ refusedMs: NOW - 5_000 }),
      nodeWith([running({})]),
      'starting',
    ],
    ['does not wait for a node without pods', waiting(), nodeWith([]), undefined],
    ['does not wait on an empty node that was just nominated', waiting({ refusedMs: NOW }), nodeWith([]), undefined],
    [
      'does not wait if kube-scheduler deletes no pods',
      waiting({ refusedMs: NOW - 11_000 }),
      nodeWith([running({})]),
      undefined,
    ],
    [
      'does not wait because of a time in the future',
      waiting({ refusedMs: NOW + MINUTE }),
      nodeWith([running({})]),
      undefined,
    ],
    ['does not wait for a node that does not exist', waiting(), undefined, undefined],
    [
      'does not wait for a node that is being removed',
      waiting(),
      nodeWith([running(VICTIM)], [], { markedForDeletion: true }),
      undefined,
    ],
    ['does not wait for a node with a taint', waiting(), nodeWith([running(VICTIM)], [DISRUPTED_TAINT]), undefined],
    ['does not wait for an evicted pod', waiting(), nodeWith([running({ ...VICTIM, condition: EVICTED })]), undefined],
    [
      'does not wait for a pod that its user deleted',
      waiting(),
      nodeWith([running({ leavesInMs: 20_000 })]),
      undefined,
    ],
    ['does not wait for a pod of its priority', waiting({ priority: 0 }), nodeWith([running(VICTIM)]), undefined],
    ['does not wait for a stuck pod', waiting(), nodeWith([running({ ...VICTIM, leavesInMs: -61_000 })]), undefined],
    [
      'does not wait for a long grace period',
      waiting(),
      nodeWith([running({ ...VICTIM, graceSeconds: 3_600 })]),
      undefined,
    ],
    [
      'does not wait if another pod took the room',
      waiting(),
      nodeWith([running(VICTIM), running({ priority: 20 })]),
      undefined,
    ],
    ['does not wait if it is too large', waiting({ cpu: '5' }), nodeWith([running(VICTIM)]), undefined],
    [
      'does not wait before kube-scheduler has refused it',
      waiting({ conditions: [] }),
      nodeWith([running(VICTIM)]),
      undefined,
    ],
  ])('%s', (_, each, node, preemption) => {
    expect(preemptionFor(each, node, NOW)).toBe(preemption);
  });

  const victims = fc.array(
    fc.record({
      priority: fc.integer({ min: -20, max: 20 }),
      cpu: fc.constantFrom('100m', '1', '3'),
      graceSeconds: fc.constantFrom(0, 30, 300, 86_400),
      leavesInMs: fc.option(fc.integer({ min: -10 * MINUTE, max: 24 * 60 * MINUTE }), { nil: undefined }),
      condition: fc.constantFrom(undefined, PREEMPTED, EVICTED),
    }),
    { maxLength: 6 },
  );
  const offsets = fc.integer({ min: -2 * MINUTE, max: 2 * MINUTE });
  const inputs = fc.record({
    priority: fc.integer({ min: -20, max: 20 }),
    cpu: fc.constantFrom('500m', '2', '5'),
    refused: offsets,
    victims,
    markedForDeletion: fc.boolean(),
  });

  it('waits only for pods that kube-scheduler deletes, or for ten seconds after a refusal', () => {
    let found = 0;
    fc.assert(
      fc.property(inputs, ({ priority, cpu, refused, victims: drawn, markedForDeletion }) => {
        const each = waiting({ priority, cpu, refusedMs: NOW + refused });
        const node = nodeWith(drawn.map(running), [], { markedForDeletion });
        const preemption = preemptionFor(each, node, NOW);
        if (preemption === undefined) return;
        found += 1;
        expect(markedForDeletion).toBe(false);
        if (preemption === 'starting') expect(Math.abs(refused)).toBeLessThan(10 * SECOND);
        else
          expect(
            drawn.some(
              (victim) =>
                victim.condition === PREEMPTED &&
                victim.priority < priority &&
                victim.graceSeconds <= 300 &&
                (victim.leavesInMs ?? -MINUTE * 2) >= -MINUTE,
            ),
          ).toBe(true);
      }),
      { numRuns: 2_000 },
    );
    expect(found).toBeGreaterThan(20);
  });

  it('gets a node at the latest when a minute has passed since the last grace period, if no object changes', () => {
    fc.assert(
      fc.property(inputs, ({ priority, cpu, refused, victims: drawn }) => {
        const each = waiting({ priority, cpu, refusedMs: NOW + refused });
        const ends = drawn.map(({ leavesInMs = 0 }) => leavesInMs + MINUTE + SECOND);
        const lastMs = NOW + Math.max(refused + 10 * SECOND, ...ends, 0);
        expect(preemptionFor(each, nodeWith(drawn.map(running)), lastMs)).toBeUndefined();
      }),
      { numRuns: 1_000 },
    );
  });
});
