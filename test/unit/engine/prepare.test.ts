import { describe, expect, it } from '@jest/globals';
import type { Plan, Snapshot } from '../../../src/engine/model.ts';
import { prepare, solve, type Variation } from '../../../src/engine/solve.ts';
import { OPTIONS, pod, replicas, snapshot } from './build.ts';
import { Draw, drawnSnapshot } from './scenarios.ts';

const EXPERIMENT = { ...OPTIONS, packing: 'compatible', reservedMode: 'fallback' } as const;
const textOf = (plan: Plan): string => JSON.stringify({ ...plan, refusals: [...plan.refusals] });

function drawnVariation(draw: Draw, { nodes, pendingPods }: Snapshot): Variation {
  const leaving = new Set(nodes.filter(() => draw.chance(0.3)).map(({ providerId }) => providerId));
  const moved = nodes.filter(({ providerId }) => leaving.has(providerId)).flatMap(({ pods }) => pods);
  return {
    leaving,
    pendingPods: [...pendingPods.filter(() => draw.chance(0.7)), ...moved.filter(() => draw.chance(0.9))],
  };
}

function applied(base: Snapshot, { leaving, pendingPods = [] }: Variation): Snapshot {
  return {
    ...base,
    nodes: base.nodes.map((node) => (leaving?.has(node.providerId) ? { ...node, markedForDeletion: true } : node)),
    pendingPods,
  };
}

describe('a prepared snapshot', () => {
  it.each(
    Array.from({ length: 12 }, (_, seed) => seed),
  )('solved with variation after variation gives the plans of the varied snapshots (seed %i)', (seed) => {
    const base = drawnSnapshot(seed, { nodes: 12, workloads: 10 });
    const prepared = prepare(base, EXPERIMENT);
    const draw = new Draw(seed + 1000);
    for (let count = 0; count < 5; count++) {
      const variation = drawnVariation(draw, base);
      expect(textOf(prepared.solve(variation))).toBe(textOf(solve(applied(base, variation), EXPERIMENT)));
    }
    expect(textOf(prepared.solve())).toBe(textOf(solve(base, EXPERIMENT)));
  });

  it('takes in pods with rules on labels that none had before', () => {
    const apart = {
      labels: { shard: 'one' },
      affinity: {
        podAntiAffinity: {
          requiredDuringSchedulingIgnoredDuringExecution: [
            { topologyKey: 'kubernetes.io/hostname', labelSelector: { matchLabels: { shard: 'one' } } },
          ],
        },
      },
    };
    const prepared = prepare(snapshot({ pendingPods: [pod('web')] }), EXPERIMENT);
    expect(prepared.solve().claims).toHaveLength(1);
    expect(prepared.solve({ pendingPods: replicas(3, 'shard', apart) }).claims).toHaveLength(3);
  });

  it('stops once more claims than wanted would be needed, and names the pods left', () => {
    const prepared = prepare(snapshot({ pendingPods: replicas(5, 'web', { cpu: '7' }) }), EXPERIMENT);
    const plan = prepared.solve({}, { mostClaims: 2 });
    expect(plan.claims).toHaveLength(3);
    expect(plan.notEvaluated).toEqual(['default/web-3', 'default/web-4']);
  });
});
