import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import type { EngineSnapshot, Plan, Snapshot } from '#engine/model';
import { solve } from '#engine/solve';
import { ReceivedLists, SentLists } from '../../../src/engine-worker/copied-lists.ts';
import { numberedNode, numberedPod, trimmedPod } from '../../../src/engine-worker/trimmed.ts';
import { keptOnce, keptPart } from '../../../src/engine-worker/worker-state.ts';
import { OPTIONS, pod, stateNode } from '../engine/build.ts';
import { drawnSnapshot } from '../engine/scenarios.ts';

/** Returns the snapshot that a worker has after it received the given one. */
async function received(snapshot: Snapshot): Promise<EngineSnapshot> {
  const held = new ReceivedLists(keptOnce, keptPart);
  const sent = new SentLists((message) => held.receive(structuredClone(message)));
  await sent.send({ name: 'nodes', items: snapshot.nodes, formOf: numberedNode });
  await sent.send({ name: 'pendingPods', items: snapshot.pendingPods, formOf: numberedPod });
  await sent.send({ name: 'daemonPods', items: snapshot.daemonPods, formOf: numberedPod });
  const items = <T>(list: string): readonly T[] => held.items(list) as readonly T[];
  return {
    ...snapshot,
    nodes: items('nodes'),
    pendingPods: items('pendingPods'),
    daemonPods: items('daemonPods'),
  };
}
const textOf = (plan: Plan): string => JSON.stringify({ ...plan, refusals: [...plan.refusals] });

describe('a trimmed object', () => {
  it.each(Array.from({ length: 10 }, (_, seed) => seed))('is solved like a whole one (seed %i)', async (seed) => {
    const snapshot = drawnSnapshot(seed, { nodes: 10, workloads: 10 });
    expect(textOf(solve(await received(snapshot), OPTIONS))).toBe(textOf(solve(snapshot, OPTIONS)));
  });

  it('keeps only the fields that scheduling rules read', () => {
    const own = pod('web', { cpu: '1', hostPort: 80, labels: { app: 'web' } });
    const fat: Pod = {
      ...own,
      metadata: { ...own.metadata, generateName: 'web-', generation: 3 },
      status: { phase: 'Running', conditions: [], containerStatuses: [{ name: 'app', ready: true }] },
    };
    expect(trimmedPod(fat)).toEqual({ ...own, status: { phase: 'Running' } });
  });

  it('keeps the reported requests of a pod only during its resize', () => {
    const reported = (cpu: string) => ({
      containerStatuses: [{ name: 'app', allocatedResources: { cpu }, resources: { requests: { cpu } } }],
    });
    const sized = pod('web', { cpu: '1' });
    expect(trimmedPod({ ...sized, status: reported('2') }).status).toEqual(reported('2'));
    expect(trimmedPod({ ...sized, status: reported('1') }).status).toEqual({});
  });

  it('keeps the reason of a pending resize', () => {
    const conditions = [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' } as const];
    const containerStatuses = [{ name: 'app', resources: { requests: { cpu: '2' } } }];
    const status = { conditions, containerStatuses };
    expect(trimmedPod({ ...pod('web', { cpu: '3' }), status }).status).toEqual(status);
  });

  it('keeps the False conditions of pods', () => {
    const unscheduled = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' } as const;
    const conditions = [
      { ...unscheduled, message: '0/3 nodes are available' },
      { type: 'Ready', status: 'True' },
    ] as const;
    expect(trimmedPod({ ...pod('web'), status: { conditions } }).status).toEqual({ conditions: [unscheduled] });
    expect(trimmedPod({ ...pod('web'), status: { conditions: conditions.slice(1) } }).status).toEqual({});
  });

  it('keeps the age of NodeClaims and the times of their conditions', () => {
    const metadata = { name: 'c', creationTimestamp: '2026-01-01T00:00:00Z' };
    const nodeClaim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { ...metadata, labels: { a: 'b' } },
      spec: {
        nodeClassRef: { group: 'g', kind: 'k', name: 'n' },
        requirements: [],
        expireAfter: '720h',
      },
      status: {
        providerID: 'x',
        lastPodEventTime: '2026-01-02T00:00:00Z',
        conditions: [{ type: 'Drifted', status: 'True' as const, message: 'x' }],
      },
    };
    expect(numberedNode({ ...stateNode('n'), nodeClaim }, () => 0).nodeClaim).toEqual({
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata,
      spec: { expireAfter: '720h' },
      status: { lastPodEventTime: '2026-01-02T00:00:00Z', conditions: [{ type: 'Drifted', status: 'True' }] },
    });
  });
});
