import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODE_POOL, type NodePool } from '#api/objects';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

type Policy = NonNullable<NodePool['spec']['disruption']>['consolidationPolicy'];

/** A NodePool that consolidates after thirty seconds, once its budget allows it. */
async function withPool(
  consolidationPolicy: Policy = 'WhenEmptyOrUnderutilized',
  capacityType = 'on-demand',
): Promise<void> {
  const seed = world.nodePool('seed');
  world.kube.delete(NODE_POOL, seed.metadata);
  const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: [capacityType] }];
  world.nodePool('default', {
    template: { spec: { ...seed.spec.template.spec, requirements } },
    disruption: {
      consolidateAfter: '30s',
      budgets: [{ nodes: '0' }],
      ...(consolidationPolicy && { consolidationPolicy }),
    },
  });
  world.start();
  await world.pass(2);
}

/** Opens the budget after all nodes have been quiet for long enough. */
async function release(): Promise<void> {
  await world.pass(60);
  world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
}

const types = (): readonly unknown[] => world.nodes.map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]);
const decisions = (): readonly unknown[] =>
  world.lines.filter(({ message }) => message === 'disrupting node(s)').map(({ fields }) => fields.decision);
const events = (wanted: string): readonly string[] =>
  world.events.filter(({ reason }) => reason === wanted).map(({ message }) => message);

describe('consolidation', () => {
  it('deletes a node whose pods fit on another node', async () => {
    await withPool();
    world.deploy('a', 7);
    await world.pass(15);
    world.deploy('b', 7);
    await world.pass(20);
    expect(types()).toEqual(['m.2xlarge', 'm.2xlarge']);

    world.deploy('a', 5);
    world.deploy('b', 2);
    await release();
    await world.pass(180);
    expect(types()).toEqual(['m.2xlarge']);
    expect(world.pods).toHaveLength(7);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(decisions()).toEqual(['delete']);
    expect(await world.metrics.text()).toMatch(/nodeclaims_disrupted_total\{reason="underutilized"/);
    expect(world.errors()).toEqual([]);
  });

  it('replaces a node by a cheaper one that is initialized first', async () => {
    await withPool();
    world.deploy('a', 7);
    await world.pass(20);
    world.deploy('a', 1);
    await release();
    await world.pass(180);

    expect(types()).toEqual(['m.large']);
    expect(decisions()).toEqual(['replace']);
    expect(world.pods.every(({ spec }) => spec.nodeName)).toBe(true);
    expect(events('ConsolidationCandidate')[0]).toMatch(
      /^Consolidation candidate: replace: \[node-\d+\] -> \[1 replacement\] \(savings: \$0\.30\)$/,
    );
  });

  it('merges several nodes into one', async () => {
    await withPool();
    for (const name of ['a', 'b', 'c']) {
      world.deploy(name, 3);
      await world.pass(12);
    }
    expect(types()).toEqual(['m.xlarge', 'm.xlarge', 'm.xlarge']);
    for (const name of ['a', 'b', 'c']) world.deploy(name, 1, '1');
    await release();
    await world.pass(240);

    expect(types()).toEqual(['m.xlarge']);
    expect(world.pods).toHaveLength(3);
    const [first] = world.lines.filter(({ message }) => message === 'disrupting node(s)');
    expect(first?.fields['disrupted-node-count']).toBeGreaterThan(1);
  });

  it('keeps nodes with pods under WhenEmpty', async () => {
    await withPool('WhenEmpty');
    world.deploy('a', 7);
    await world.pass(20);
    world.deploy('a', 1);
    await release();
    await world.pass(120);

    expect(types()).toEqual(['m.2xlarge']);
    expect(events('Unconsolidatable')).toContain(
      'NodePool "default" has consolidation policy WhenEmpty, but node is not empty',
    );
  });

  it('does not replace spot by spot without the feature gate', async () => {
    await withPool('WhenEmptyOrUnderutilized', 'spot');
    world.deploy('a', 7);
    await world.pass(20);
    world.deploy('a', 1);
    await release();
    await world.pass(120);

    expect(types()).toEqual(['m.2xlarge']);
    expect(events('Unconsolidatable')).toContain(
      "SpotToSpotConsolidation is disabled, can't replace a spot node with a spot node",
    );
  });

  it('approves a balanced move with a sufficient score, and reports the score', async () => {
    await withPool('Balanced');
    world.deploy('a', 7);
    await world.pass(20);
    world.deploy('a', 1);
    await release();
    await world.pass(180);

    expect(types()).toEqual(['m.large']);
    expect(world.lines.find(({ message }) => message === 'consolidation score')?.fields).toMatchObject({
      nodepool: 'default',
      approved: true,
      decision: 'approved',
      threshold: 0.5,
      k: 2,
      savings_fraction: expect.closeTo(0.75, 6),
      disruption_fraction: 1,
      candidates: [expect.stringMatching(/^node-/)],
    });
    const metrics = await world.metrics.text();
    const pool = 'decision="approved",nodepool="default",policy="Balanced"';
    expect(metrics).toMatch(new RegExp(`consolidation_moves_total\\{${pool}\\} \\d`));
    expect(metrics).toMatch(new RegExp(`consolidation_score_bucket\\{le="1",${pool}\\} \\d`));
    expect(events('ConsolidationApproved')[0]).toMatch(
      /^score 0\.75 >= threshold 0\.50 \(k: 2, savings 75\.0%, disruption 100\.0%\)$/,
    );
  });
});
