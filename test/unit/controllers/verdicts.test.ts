import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { NODE_POOL } from '../../../src/api/kinds.ts';
import { VerdictBook } from '../../../src/controllers/disruption/verdictbook.ts';
import type { Verdict } from '../../../src/engine/disruption/verdicts.ts';
import { World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

describe('the book of verdicts', () => {
  it('follows the reasons of every pass', async () => {
    const book = new VerdictBook();
    const only = (): Verdict | undefined => book.verdicts(world.cluster.nodes(), world.clock.now())[0];
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '0' }] } });
    world.start([], book);
    await world.pass(2);
    world.pending(1, '7');
    await world.pass(60);
    expect(only()).toMatchObject({ nodePool: 'default', code: 'budget' });

    world.removePods(...world.pods);
    await world.pass(40);
    expect(only()).toMatchObject({ code: 'budget', object: { kind: 'NodePool', name: 'default' } });
    expect(only()?.methods.find(({ method }) => method === 'single-node consolidation')?.code).toBe('empty');

    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await world.pass(15);
    expect(only()).toMatchObject({ code: 'chosen', command: { method: 'emptiness', decision: 'delete' } });
    await world.pass(90);
    expect(world.nodes).toEqual([]);
    expect(only()).toBeUndefined();
  });
});
