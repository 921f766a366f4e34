/** What the controllers of NodeClaims and Nodes must not do because their caches lag behind their own writes. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { type Kind, NODE, NODE_CLAIM, NODE_POOL } from '../../../src/api/kinds.ts';
import type { KubeObject } from '../../../src/api/kubernetes.ts';
import { World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

describe('nodes that end together', () => {
  it.each<{ what: string; kind: Kind<KubeObject> }>([
    { what: 'claims', kind: NODE_CLAIM },
    { what: 'Nodes', kind: NODE },
  ])('because their $what are deleted need none of the retries that all nodes share', async ({ kind }) => {
    world.nodePool();
    world.start();
    world.deploy('web', 12, '7');
    await world.pass(20);
    expect(world.nodes).toHaveLength(12);

    const before = world.lines.length;
    world.kube.delete(NODE_POOL, { name: 'default' });
    world.deploy('web', 0);
    for (const { metadata } of world.kube.all(kind)) world.kube.delete(kind, metadata);
    await world.pass(20);
    expect([world.claims, world.nodes]).toEqual([[], []]);
    const requeued = world.lines.slice(before).filter(({ message }) => message === 'requeued');
    expect(requeued.map(({ fields }) => fields.controller)).toEqual([]);
    expect(world.errors()).toEqual([]);
  });
});
