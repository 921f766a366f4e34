/** Metrics and events of disruption. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE, NODE_POOL } from '#api/objects';
import { multiNode, singleNode } from '#engine/testing';
import { createMetrics } from '#observe/setup';
import { observeEvaluations } from '../../../../src/controllers/disruption/measures.ts';
import { World } from '../harness.ts';
import { type Disruption, largePods, startWithNodes, WIDE } from './disruption-world.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const withNodes = (count: number, disruption: Disruption): Promise<void> =>
  startWithNodes(world, { count, disruption, small: 0 });
const large = () => largePods(world);

describe('the event Unconsolidatable', () => {
  it('is published for the Node and its NodeClaim at most once in 15 minutes', async () => {
    await withNodes(1, { ...WIDE, consolidationPolicy: 'WhenEmpty' });
    await world.pass(12);
    const message = 'NodePool "default" has consolidation policy WhenEmpty, but node is not empty';
    const told = world.events.filter(({ reason }) => reason === 'Unconsolidatable');
    expect(told.slice(0, 2)).toEqual(
      [...world.nodes, ...world.claims].map(({ kind, metadata: { uid } }) => ({
        object: expect.objectContaining({ kind }),
        type: 'Normal',
        reason: 'Unconsolidatable',
        message,
        dedupe: [uid],
        windowMs: 15 * 60_000,
        isLasting: true,
      })),
    );
  });
});

describe('a metric of disruption', () => {
  const view = (name: string, score: number | undefined) => ({
    nodePool: world.nodePool(name),
    policy: score === undefined ? 'WhenEmptyOrUnderutilized' : 'Balanced',
    approved: (score ?? 1) >= 0.5,
    text: '',
    ...(score !== undefined && { score }),
  });
  const METHODS = { multi: multiNode, single: singleNode };

  it.each([
    // A command for several NodePools is rejected if one of them rejects it. Each NodePool reports its own score.
    { method: 'multi', decisions: { dear: 'rejected', cheap: 'rejected', plain: 'rejected' } },
    // Single nodes are evaluated separately.
    { method: 'single', decisions: { dear: 'rejected', cheap: 'approved', plain: 'approved' } },
  ] as const)('counts evaluations by $method', async ({ method, decisions }) => {
    const metrics = createMetrics();
    const evaluations = [view('dear', 0.3), view('cheap', 0.7), view('plain', undefined)];
    observeEvaluations(metrics, METHODS[method], { commands: [], exhausted: false, events: [], evaluations });
    const text = await metrics.text();
    for (const [name, decision] of Object.entries(decisions))
      expect(text).toMatch(
        new RegExp(`consolidation_moves_total\\{decision="${decision}",nodepool="${name}",policy="\\w+"\\} 1`),
      );
    const scores = [...text.matchAll(/^karpenter_consolidation_score_sum\{(.*)\} (.*)$/gm)].map(
      ([, ...parts]) => parts,
    );
    expect(scores).toEqual([
      ['decision="rejected",nodepool="dear",policy="Balanced"', '0.3'],
      ['decision="approved",nodepool="cheap",policy="Balanced"', '0.7'],
    ]);
    const buckets = [...text.matchAll(/consolidation_score_bucket\{le="([^"]+)",.*nodepool="dear"/g)].map(
      ([, le]) => le,
    );
    expect(buckets).toEqual(['0.1', '0.25', '0.33', '0.5', '1', '2', '5', '10', '+Inf']);
  });

  it('has the timeouts of both searches from the start', async () => {
    await withNodes(1, WIDE);
    const text = await world.metrics.text();
    for (const type of ['multi', 'single'])
      expect(text).toContain(
        `karpenter_voluntary_disruption_consolidation_timeouts_total{consolidation_type="${type}"} 0`,
      );
  });

  it('measures every method, and counts eligible and disrupting nodes', async () => {
    await withNodes(3, { ...WIDE, budgets: [{ nodes: '2' }] });
    await world.pass(10);
    const [away] = world.nodes;
    const conditions = [
      { type: 'Ready', status: 'False', lastTransitionTime: new Date(world.clock.now()).toISOString() },
    ];
    world.kube.patch(NODE, away?.metadata ?? { name: '' }, { status: { conditions } }, 'status');
    world.removePods(...large().slice(1, 2));
    await world.pass(12);
    const text = await world.metrics.text();
    for (const labels of [
      'reason="empty",consolidation_type="empty"',
      'reason="drifted",consolidation_type=""',
      'reason="underutilized",consolidation_type="multi"',
      'reason="underutilized",consolidation_type="single"',
    ])
      expect(text).toMatch(new RegExp(`decision_evaluation_duration_seconds_count\\{${labels}\\} [1-9]`));
    expect(text).toContain('karpenter_voluntary_disruption_eligible_nodes{reason="empty"} 1');
    expect(text).toContain('karpenter_voluntary_disruption_eligible_nodes{reason="drifted"} 0');
    expect(text).toContain('karpenter_nodepools_allowed_disruptions{nodepool="default",reason="Empty"} 2');
    expect(text).toContain('karpenter_nodepools_nodes_consuming_budgets{nodepool="default",reason="Empty"} 1');
  });

  it('ends for a deleted NodePool', async () => {
    await withNodes(1, WIDE);
    await world.pass(12);
    const shown = async (): Promise<boolean> =>
      /karpenter_nodepools_(allowed_disruptions|nodes_consuming_budgets)\{nodepool="default"/.test(
        await world.metrics.text(),
      );
    expect(await shown()).toBe(true);
    world.kube.delete(NODE_POOL, { name: 'default' });
    await world.pass(12);
    expect(await shown()).toBe(false);
  });
});
