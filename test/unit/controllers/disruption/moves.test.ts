import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { CAPACITY_TYPE_LABEL, NODE, NODE_CLAIM, NODE_POOL } from '#api/objects';
import { VerdictHistory } from '#engine/disruption';
import {
  type MovedNode,
  MoveHistory,
  type MoveView,
  savingsUntil,
} from '../../../../src/controllers/disruption/moves.ts';
import { World } from '../harness.ts';

/** Price of the only type as spot, in USD per hour. */
const PRICE = 0.16;
/** Karpenter's consolidation runs again after at most five minutes. */
const REVIEW = 400;

let world: World;
let moves: MoveHistory;
let verdicts: VerdictHistory;
beforeEach(() => {
  world = new World();
  moves = new MoveHistory();
  verdicts = new VerdictHistory();
});
afterEach(() => world.kill());

const views = (): readonly MoveView[] => moves.views(world.clock.now());
const events = (wanted: string): readonly string[] =>
  world.events.filter(({ reason }) => reason === wanted).map(({ message }) => message);
/** Creates two nodes with seven pods each, and removes pods until the rest fits on one node. */
async function packed(...args: readonly string[]): Promise<void> {
  world.cloud.types = world.cloud.types.filter(({ name }) => name === 'm.2xlarge');
  world.nodePool('default', { disruption: { consolidateAfter: '30s', budgets: [{ nodes: '100%' }] } });
  world.start(args, verdicts, moves);
  await world.pass(2);
  world.deploy('a', 7);
  await world.pass(20);
  world.deploy('b', 7);
  await world.pass(20);
  world.deploy('a', 3);
  world.deploy('b', 2);
  for (let second = 0; second < REVIEW && world.nodes.length > 1; second += 1) await world.pass(1);
  expect(world.nodes).toHaveLength(1);
}

/** Protects the remaining node, or its pods would move instead of the pods that moved before. */
function keepTheOther(): void {
  const annotations = { 'karpenter.sh/do-not-disrupt': 'true' };
  world.kube.patch(NODE, world.nodes[0]?.metadata ?? { name: '' }, { metadata: { annotations } });
}

/** Creates the pods again, which launches a node, and removes most of them a little later. */
async function comeAndGo(): Promise<void> {
  const [stays] = world.nodes;
  world.deploy('b', 9);
  await world.pass(40);
  expect(world.nodes).toHaveLength(2);
  const own = world.pods.filter(({ metadata }) => metadata.labels?.app === 'b');
  const fresh = own.filter(({ spec }) => spec.nodeName !== stays?.metadata.name);
  world.removePods(...own.filter((pod) => !fresh.includes(pod)), ...fresh.slice(2));
  world.deploy('b', 2);
  await world.pass(REVIEW);
}

describe('a consolidation', () => {
  it('saves, if it lasts, the prediction minus the time that it took', async () => {
    await packed();
    const [begun] = views();
    expect(begun).toMatchObject({ decision: 'delete', state: 'watched', nodePools: ['default'] });
    expect(begun?.command).toMatch(/^delete: \[node-\d+\]$/);
    expect(begun?.predictedUsdPerHour).toBeCloseTo(PRICE, 10);

    await world.pass(31 * 60);
    const [kept, ...others] = views();
    expect(others).toEqual([]);
    expect(kept).toMatchObject({ state: 'kept' });
    expect(kept?.predictedUsd).toBeCloseTo(PRICE / 2, 10);
    expect(kept?.realisedUsd).toBeLessThan(PRICE / 2);
    expect(kept?.realisedUsd).toBeGreaterThan(PRICE / 2 - PRICE / 30);
    expect(events('DisruptionSavings')).toEqual([
      expect.stringMatching(/^Saved \$0\.07\d+ in 30m0s of \$0\.0800 predicted: delete: \[node-\d+\]$/),
    ]);
    const metrics = await world.metrics.text();
    expect(metrics).toMatch(
      /voluntary_disruption_moves_total\{decision="delete",reason="underutilized",outcome="kept"\} 1/,
    );
    expect(metrics).toMatch(/voluntary_disruption_savings_usd\{kind="predicted",reason="underutilized"\} 0\.08/);
    expect(metrics).toMatch(/voluntary_disruption_savings_usd\{kind="realised",reason="underutilized"\} 0\.07/);
    expect(events('DisruptionUndone')).toEqual([]);
  });

  it('is reported as undone if a node is launched for its pods', async () => {
    await packed();
    keepTheOther();
    await comeAndGo();
    expect(events('DisruptionUndone')).toEqual([
      expect.stringMatching(/^Undone after .*: delete: \[.*\], NodeClaim default-\w+ was launched for its pods$/),
    ]);
    expect(world.nodes).toHaveLength(1);
    expect(views().map(({ state }) => state)).toEqual(['watched', 'undone']);
    expect(world.errors()).toEqual([]);
  });

  it('is charged for at most its deleted nodes, because further nodes are growth', async () => {
    await packed();
    world.deploy('b', 5 * 7);
    await world.pass(60);
    expect(world.nodes.length).toBeGreaterThan(3);
    const [undone] = views();
    expect(undone).toMatchObject({ state: 'undone' });
    await world.pass(31 * 60);
    // One node was deleted and launched again, with almost no savings and costs.
    expect(Math.abs(views().at(-1)?.realisedUsd ?? 1)).toBeLessThan(PRICE / 20);
  });

  it('is not undone by a node that is replaced for another reason', async () => {
    await packed();
    world.cloud.drifted = 'AMIDrift';
    await world.pass(340);
    world.cloud.drifted = undefined;
    await world.pass(120);
    expect(world.lines.map(({ fields }) => fields.command)).toContainEqual(expect.stringMatching(/^Drifted/));
    expect(views().map(({ state }) => state)).toEqual(['watched']);
    // An expired node is launched again without a command.
    const [claim] = world.claims;
    world.kube.delete(NODE_CLAIM, claim?.metadata ?? { name: '' });
    await world.pass(60);
    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(claim?.metadata.name);
    expect(world.nodes).toHaveLength(1);
    expect(views().map(({ state }) => state)).toEqual(['watched']);
  });

  it.each([
    ['is undone when its replacement is removed', 'undone'],
    ['is not undone when its replacement is removed because its pods ended', 'watched'],
  ])('%s', async (_, state) => {
    const seed = world.nodePool('seed');
    world.kube.delete(NODE_POOL, seed.metadata);
    const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] }];
    world.nodePool('default', {
      template: { spec: { ...seed.spec.template.spec, requirements } },
      disruption: { consolidateAfter: '30s', budgets: [{ nodes: '100%' }] },
    });
    world.start([], verdicts, moves);
    await world.pass(2);
    world.deploy('a', 7);
    await world.pass(20);
    world.deploy('a', 1);
    await world.pass(REVIEW);
    const move = (): MoveView | undefined => views().find(({ decision }) => decision === 'replace');
    expect(move()).toMatchObject({ state: 'watched', workloads: ['default/ReplicaSet/a'] });
    expect(world.nodes).toHaveLength(1);
    const [replacement] = world.claims;

    if (state === 'undone') world.kube.delete(NODE_CLAIM, replacement?.metadata ?? { name: '' });
    else world.deploy('a', 0);
    await world.pass(REVIEW);
    expect(world.claims.map(({ metadata }) => metadata.name)).not.toContain(replacement?.metadata.name);
    expect(move()?.state).toBe(state);
    if (state === 'watched') return;
    expect(move()?.undone).toMatchObject({ because: 'replacement-gone', nodeClaim: replacement?.metadata.name });
    expect(events('DisruptionUndone')).toEqual([expect.stringMatching(/ was its replacement and was removed$/)]);
  });
});

describe('the amount of savings', () => {
  const NOW = Date.parse('2026-01-01T00:00:00Z');
  const HOUR = 3_600_000;
  const moveOf = (
    predictedUsdPerHour: number,
    given: readonly MovedNode[],
    taken: readonly (MovedNode & { readonly launchedMs: number })[],
  ) => ({
    predictedUsdPerHour,
    startedMs: NOW,
    endsMs: NOW + HOUR,
    given: new Map(given.map((node, at) => [`given-${at}`, node])),
    taken: new Map(taken.map((node, at) => [`taken-${at}`, node])),
  });

  it.each([
    ['a deletion', [{ usdPerHour: 0.4, goneMs: NOW }], [], 0.2],
    ['a slow deletion', [{ usdPerHour: 0.4, goneMs: NOW + HOUR / 4 }], [], 0.1],
    ['a node that was not deleted', [{ usdPerHour: 0.4 }], [], 0],
    [
      'a replacement, including the time in which both nodes run',
      [{ usdPerHour: 0.4, goneMs: NOW }],
      [{ usdPerHour: 0.1, launchedMs: NOW - HOUR / 10 }],
      0.2 - 0.06,
    ],
    [
      'capacity that is launched again',
      [{ usdPerHour: 0.4, goneMs: NOW }],
      [{ usdPerHour: 0.8, launchedMs: NOW + HOUR / 8 }],
      0.2 - 0.3,
    ],
    [
      'a replacement that is removed again',
      [{ usdPerHour: 0.4, goneMs: NOW }],
      [{ usdPerHour: 0.2, launchedMs: NOW, goneMs: NOW + HOUR / 4 }],
      0.2 - 0.05,
    ],
    ['a node that is deleted later', [{ usdPerHour: 0.4, goneMs: NOW + HOUR }], [], 0],
    [
      'a node that is launched again later',
      [{ usdPerHour: 0.4, goneMs: NOW }],
      [{ usdPerHour: 0.8, launchedMs: NOW + HOUR }],
      0.2,
    ],
    [
      'a replacement that is removed later',
      [{ usdPerHour: 0.4, goneMs: NOW }],
      [{ usdPerHour: 0.2, launchedMs: NOW, goneMs: NOW + HOUR }],
      0.2 - 0.1,
    ],
  ])('is computed of %s', (_, given, taken, usd) => {
    const { predicted, realised } = savingsUntil(moveOf(0.4, given, taken), NOW + HOUR / 2);
    expect(realised).toBeCloseTo(usd, 10);
    expect(predicted).toBeCloseTo(0.2, 10);
  });

  it('never exceeds the prediction, and equals it if the nodes terminate immediately and no nodes are launched', () => {
    const minutes = fc.integer({ min: 0, max: 30 });
    fc.assert(
      fc.property(fc.double({ min: 0, max: 50, noNaN: true }), minutes, minutes, (usdPerHour, gone, until) => {
        const move = moveOf(usdPerHour, [{ usdPerHour, goneMs: NOW + gone * 60_000 }], []);
        const { predicted, realised } = savingsUntil(move, NOW + until * 60_000);
        expect(realised).toBeLessThanOrEqual(predicted + 1e-9);
        if (gone === 0) expect(realised).toBeCloseTo(predicted, 9);
      }),
    );
  });
});
