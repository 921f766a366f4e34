import { describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../src/api/kubernetes.ts';
import type { Plan, Snapshot } from '../../../src/engine/model.ts';
import { solve } from '../../../src/engine/solve.ts';
import { trimmedNode, trimmedPod } from '../../../src/engine-worker/trimmed.ts';
import { OPTIONS, pod, stateNode } from '../engine/build.ts';
import { drawnSnapshot } from '../engine/scenarios.ts';

const slimmed = (snapshot: Snapshot): Snapshot => ({
  ...snapshot,
  nodes: snapshot.nodes.map(trimmedNode),
  pendingPods: snapshot.pendingPods.map(trimmedPod),
});
const textOf = (plan: Plan): string => JSON.stringify({ ...plan, refusals: [...plan.refusals] });

describe('slim objects', () => {
  it.each(Array.from({ length: 10 }, (_, seed) => seed))('are solved like whole ones (seed %i)', (seed) => {
    const snapshot = drawnSnapshot(seed, { nodes: 10, workloads: 10 });
    expect(textOf(solve(slimmed(snapshot), OPTIONS))).toBe(textOf(solve(snapshot, OPTIONS)));
  });

  it('leave out what nobody looks at, and keep what rules look at', () => {
    const own = pod('web', { cpu: '1', hostPort: 80, labels: { app: 'web' } });
    const fat: Pod = {
      ...own,
      metadata: { ...own.metadata, generateName: 'web-', generation: 3 },
      status: { phase: 'Running', conditions: [], containerStatuses: [{ name: 'app', ready: true }] },
    };
    expect(trimmedPod(fat)).toEqual({ ...own, status: { phase: 'Running' } });
  });

  it('keep what a pod was given while it is being resized', () => {
    const containerStatuses = [{ name: 'app', allocatedResources: { cpu: '2' } }];
    expect(trimmedPod({ ...pod('web'), status: { containerStatuses } }).status).toEqual({ containerStatuses });
  });

  it('keep annotations of pods that wait, and drop those of pods that run', () => {
    const annotated: Pod = { ...pod('web'), metadata: { name: 'web', annotations: { note: 'x' } } };
    expect(trimmedPod(annotated).metadata.annotations).toEqual({ note: 'x' });
    expect(trimmedNode(stateNode('n', { pods: [annotated] })).pods[0]?.metadata.annotations).toBeUndefined();
  });
});
