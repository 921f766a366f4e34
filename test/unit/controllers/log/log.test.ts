/** The operator records its decisions with their reasons. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM } from '#api/objects';
import { type LogLine, logLines, newHistory, type OperatorHistory } from '#observe/history';
import type { LogKind } from '#observe/testing';
import { present } from '../../../support/present.ts';
import { CLOSED, largePods, startWithNodes, WIDE } from '../disruption/disruption-world.ts';
import { World } from '../harness.ts';

let world: World;
let history: OperatorHistory;
beforeEach(() => {
  world = new World();
  history = newHistory();
  world.costHistory = history;
});
afterEach(() => world.kill());

const lines = (...kinds: readonly LogKind[]): readonly LogLine[] =>
  logLines(history.decisions.entries).filter(({ kind }) => kinds.length === 0 || kinds.includes(kind));

describe('the log of decisions', () => {
  it('has launches, joins and moves with the nodes before and after them', async () => {
    await startWithNodes(world, { count: 2, disruption: { ...WIDE, consolidateAfter: '30s' }, small: 0 });
    world.removePods(...largePods(world).slice(1));
    await world.pass(120);
    expect(world.nodes).toHaveLength(1);
    const found = lines();
    expect(found.map(({ kind }) => kind)).toEqual(['leader', 'launch', 'join', 'launch', 'join', 'move']);
    const move = present(found.at(-1));
    expect(move).toMatchObject({ before: { nodes: 2 }, after: { nodes: 1 }, nodePools: ['default'], cause: 'empty' });
    expect(present(move.before).usdPerHour).toBeGreaterThan(present(move.after).usdPerHour);
    const [node = ''] = move.nodes;
    expect(logLines(history.decisions.entries, { node }).map(({ kind }) => kind)).toEqual(['launch', 'join', 'move']);
  });

  it('has a NodeClaim that another client deletes, once, and none that the operator deletes', async () => {
    await startWithNodes(world, { count: 1, disruption: CLOSED, small: 0 });
    const [claim] = world.claims;
    world.kube.delete(NODE_CLAIM, present(claim).metadata);
    await world.pass(60);
    expect(lines('deletion')).toMatchObject([
      { cause: 'external', nodeClaims: [present(claim).metadata.name], namespaces: ['default'] },
    ]);
    expect(lines('deletion')[0]?.text).toContain('was deleted by another client, 1 pod moves');
  });

  it('has one entry for pods with the same cause, and another one if the cause returns later', async () => {
    world.nodePool('default');
    world.start();
    await world.pass(2);
    world.pending(3, '64', 'huge');
    await world.pass(5);
    world.pending(2, '65', 'larger');
    await world.pass(600);
    expect(lines('refusal')).toMatchObject([{ cause: 'too-large', nodePools: ['default'], namespaces: ['default'] }]);
    expect(lines('refusal')[0]?.text).toMatch(/^no node for 3 pods \(default\/huge-1, .*: NodePool "default" has no/);
    world.removePods(...world.pods);
    await world.pass(700);
    world.pending(1, '64', 'huge');
    await world.pass(5);
    expect(lines('refusal')).toHaveLength(2);
  });

  it('has one entry for all nodes that are emptying', async () => {
    await startWithNodes(world, { count: 4, disruption: CLOSED, small: 4, flags: ['--steering=auto'] });
    world.removePods(...largePods(world));
    await world.pass(400);
    expect(lines('emptying').map(({ text, nodes }) => [text, nodes.length])).toEqual([
      ['3 nodes are emptying, kube-scheduler fills them last', 3],
    ]);
  });

  it('has the holds of launches with the time of the next attempt', async () => {
    world.joining = false;
    world.nodePool('default');
    world.start();
    await world.pass(2);
    world.pending(1, '1', 'web');
    for (let minute = 0; minute < 240 && lines('hold').length === 0; minute += 1) await world.pass(60);
    expect(lines('hold')).toMatchObject([{ cause: 'never-joined', nodePools: ['default'] }]);
    const times = lines('hold')[0]?.text.match(/until (\S+Z):/);
    expect(Date.parse(present(times?.[1]))).toBeGreaterThan(Date.parse(present(lines('hold')[0]).at));
  });
});
