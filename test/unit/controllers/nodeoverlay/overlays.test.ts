import { describe, expect, it } from '@jest/globals';
import { INSTANCE_TYPE_LABEL, type NodeOverlay, type NodePool } from '#api/objects';
import { realClock } from '#lib/clock';
import { Overlays, OverlaysNotEvaluated } from '../../../../src/controllers/nodeoverlay/overlays.ts';
import { instanceType, nodePool, oneOf } from '../../engine/build.ts';

const types = [instanceType('small'), instanceType('large')];
const overlay = (name: string, requirements: NodeOverlay['spec']['requirements'], generation = 1): NodeOverlay => ({
  apiVersion: 'karpenter.sh/v1alpha1',
  kind: 'NodeOverlay',
  metadata: { name, uid: name, generation },
  spec: { requirements, price: '7' },
});
const version = (pool: NodePool, uid: string, generation: number): NodePool => ({
  ...pool,
  metadata: { ...pool.metadata, uid, generation },
});
const blue = (uid: string, team: string, generation = 1): NodePool =>
  version(nodePool('default', { labels: { team } }), uid, generation);
const FOR_BLUE = overlay('blue', [oneOf('team', 'blue')]);
const IN_DEFAULT = new Set(['default']);

describe('the set of overlays in force', () => {
  it('is unknown for a NodePool until it is evaluated for it', async () => {
    const overlays = new Overlays(realClock());
    await expect(overlays.apply(blue('a', 'blue'), types)).rejects.toThrow(OverlaysNotEvaluated);
    overlays.replace([], new Set(['other']));
    await expect(overlays.apply(blue('a', 'blue'), types)).rejects.toThrow(/"default"/);
    overlays.replace([], IN_DEFAULT);
    expect(await overlays.apply(blue('a', 'blue'), types)).toBe(types);
  });

  it('returns the same list for equal types while nothing changes', async () => {
    const overlays = new Overlays(realClock());
    overlays.replace([FOR_BLUE], IN_DEFAULT);
    const first = await overlays.apply(blue('a', 'blue'), types);
    expect(first).not.toBe(types);
    expect(await overlays.apply(blue('a', 'blue'), types)).toBe(first);
    expect(await overlays.apply(blue('a', 'blue'), [...types])).toBe(first);
    expect(await overlays.apply(blue('a', 'blue'), types.slice(0, 1))).not.toBe(first);
  });

  it('is applied again for an edited or recreated NodePool', async () => {
    const overlays = new Overlays(realClock());
    overlays.replace([FOR_BLUE], IN_DEFAULT);
    await overlays.apply(blue('a', 'blue'), types);
    expect(await overlays.apply(blue('a', 'red', 2), types)).toBe(types);
    await overlays.apply(blue('b', 'blue'), types);
    expect(await overlays.apply(blue('c', 'red'), types)).toBe(types);
  });

  it('shares a list between NodePools with the same matches', async () => {
    const overlays = new Overlays(realClock());
    const large = overlay('large', [oneOf(INSTANCE_TYPE_LABEL, 'large')]);
    overlays.replace([large], new Set(['default', 'other']));
    const other = version(nodePool('other', { labels: { team: 'red' } }), 'o', 1);
    expect(await overlays.apply(other, types)).toBe(await overlays.apply(blue('a', 'blue'), types));
  });

  it('reports if an evaluation changes the result', () => {
    const overlays = new Overlays(realClock());
    const large = overlay('large', [oneOf(INSTANCE_TYPE_LABEL, 'large')]);
    expect(overlays.replace([FOR_BLUE, large], IN_DEFAULT)).toBe(true);
    expect(overlays.replace([FOR_BLUE, large], IN_DEFAULT)).toBe(false);
    expect(overlays.replace([FOR_BLUE, overlay('large', [], 2)], IN_DEFAULT)).toBe(true);
    expect(overlays.replace([FOR_BLUE], IN_DEFAULT)).toBe(true);
    expect(overlays.replace([FOR_BLUE], new Set(['default', 'other']))).toBe(true);
  });
});
