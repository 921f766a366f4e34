import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  getCondition,
  INSTANCE_TYPE_LABEL,
  isTrue,
  NODE_OVERLAY,
  NODE_POOL,
} from '#api/objects';
import type { NodeOverlaySpec } from '#api/testing';
import { MOST_OVERLAYS } from '#engine/solve';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const overlay = (name: string, spec: Partial<NodeOverlaySpec>): unknown =>
  world.kube.create(NODE_OVERLAY, {
    apiVersion: 'karpenter.sh/v1alpha1',
    kind: 'NodeOverlay',
    metadata: { name },
    spec: { requirements: [], ...spec },
  });
const about = (type: string): Pick<NodeOverlaySpec, 'requirements'> => ({
  requirements: [{ key: INSTANCE_TYPE_LABEL, operator: 'In', values: [type] }],
});
const begin = async (gates = 'NodeOverlay=true'): Promise<void> => {
  world.nodePool();
  world.start([`--feature-gates=${gates}`]);
  await world.pass(2);
};
const boughtTypes = (): readonly (string | undefined)[] =>
  world.claims.map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]);
const verdict = (name: string): string => {
  const found = world.kube.find(NODE_OVERLAY, { name });
  const condition = found && getCondition(found, 'ValidationSucceeded');
  return `${condition?.status}/${condition?.reason}/${found && isTrue(found, 'Ready')}`;
};

describe('a NodeOverlay', () => {
  it('changes the launched type, and annotates the claim', async () => {
    overlay('dear', { ...about('m.large'), price: '5' });
    await begin();
    world.pending(1);
    await world.pass(15);

    expect(boughtTypes()).toEqual(['m.xlarge']);
    expect(world.claims[0]?.metadata.annotations).toMatchObject({ 'karpenter.sh/price-overlay-applied': 'true' });
    expect(verdict('dear')).toBe('True/ValidationSucceeded/true');
    expect(world.errors()).toEqual([]);
  });

  it.each<[string, Partial<NodeOverlaySpec>]>([
    ['price', { price: '9'.repeat(400) }],
    ['adjustment', { priceAdjustment: `+${'9'.repeat(400)}` }],
    ['capacity', { capacity: { 'example.com/device': '1e1.5' } }],
  ])('is skipped without an effect on others if it cannot be parsed (%s)', async (_, spec) => {
    overlay('broken', spec);
    await begin();
    world.pending(1);
    await world.pass(15);
    expect(boughtTypes()).toEqual(['m.large']);
    expect(verdict('broken')).toBe('False/RuntimeValidation/false');
  });

  it('is skipped with a log line if it is beyond the limit', async () => {
    for (let at = 0; at <= MOST_OVERLAYS; at++) overlay(`o-${at}`, { ...about(`x.${at}`), price: '5' });
    overlay('dear', { ...about('m.large'), price: '5', weight: 10 });
    await begin();
    world.pending(1);
    await world.pass(15);
    expect(boughtTypes()).toEqual(['m.xlarge']);
    expect(verdict('dear')).toBe('True/ValidationSucceeded/true');
    expect(verdict('o-0')).toBe('False/TooManyNodeOverlays/false');
    expect(verdict('o-99')).toBe('True/ValidationSucceeded/true');
    expect(world.errors()).toContainEqual(expect.stringContaining('ignoring node overlays that exceed the limit'));
  });

  it('has no effect if the feature gate is disabled', async () => {
    overlay('dear', { ...about('m.large'), price: '5' });
    await begin('NodeOverlay=false');
    world.pending(1);
    await world.pass(15);
    expect(boughtTypes()).toEqual(['m.large']);
    expect(world.kube.find(NODE_OVERLAY, { name: 'dear' })?.status).toBeUndefined();
  });

  it('applies from its creation to its deletion', async () => {
    await begin();
    overlay('dear', { ...about('m.large'), price: '5' });
    await world.pass(2);
    world.pending(1, '1500m');
    await world.pass(10);
    world.kube.delete(NODE_OVERLAY, { name: 'dear' });
    await world.pass(2);
    world.pending(1, '1500m', 'later');
    world.pending(1, '1500m', 'later');
    await world.pass(10);
    expect(boughtTypes()).toContain('m.xlarge');
    expect(boughtTypes()).toContain('m.large');
  });

  it('adds resources that only it defines, including on joining nodes', async () => {
    overlay('dongle', { ...about('m.2xlarge'), capacity: { 'example.com/dongle': '1' } });
    await begin();
    const [pod] = world.pending(1);
    world.kube.patch(
      { group: '', version: 'v1', kind: 'Pod', plural: 'pods', namespaced: true },
      pod?.metadata ?? { name: '' },
      { spec: { containers: [{ name: 'main', resources: { requests: { cpu: '1', 'example.com/dongle': '1' } } }] } },
    );
    await world.pass(15);
    expect(boughtTypes()).toEqual(['m.2xlarge']);
    expect(world.claims[0]?.status?.capacity).toMatchObject({ 'example.com/dongle': '1' });
    expect(world.claims[0]?.metadata.annotations).toMatchObject({ 'karpenter.sh/capacity-overlay-applied': 'true' });
  });

  it('has conditions for conflicts and errors, which are reset afterwards', async () => {
    overlay('a', { ...about('m.large'), price: '1' });
    overlay('b', { ...about('m.large'), price: '2' });
    overlay('c', { requirements: [{ key: 'kubernetes.io/hostname', operator: 'In', values: ['x'] }] });
    await begin();
    expect(verdict('a')).toBe('False/Conflict/false');
    expect(verdict('b')).toBe('True/ValidationSucceeded/true');
    expect(verdict('c')).toBe('False/RuntimeValidation/false');

    world.kube.delete(NODE_OVERLAY, { name: 'b' });
    await world.pass(2);
    expect(verdict('a')).toBe('True/ValidationSucceeded/true');
  });

  it('blocks launches of a NodePool until it is evaluated for it', async () => {
    world.nodePool();
    const types = world.cloud.types;
    world.cloud.types = []; // as with an unresolved NodeClass
    world.start(['--feature-gates=NodeOverlay=true']);
    await world.pass(2);
    world.pending(1);
    await world.pass(3);
    expect(world.claims).toEqual([]);
    expect(world.lines.map(({ message }) => message)).toContain('skipping, node overlays are not applied');

    world.cloud.types = types;
    world.kube.patch(EC2_NODE_CLASS, { name: 'default' }, { spec: { changed: true } });
    await world.pass(6);
    expect(world.claims).toHaveLength(1);
  });

  it('changes the prices that consolidation uses', async () => {
    const requirements = [{ key: CAPACITY_TYPE_LABEL, operator: 'In' as const, values: ['on-demand'] }];
    const { template } = world.nodePool('model').spec;
    world.kube.delete(NODE_POOL, { name: 'model' });
    world.nodePool('default', { template: { spec: { ...template.spec, requirements } } });
    world.start(['--feature-gates=NodeOverlay=true']);
    await world.pass(2);
    world.deploy('web', 1, '1500m');
    await world.pass(60);
    expect(boughtTypes()).toEqual(['m.large']);
    overlay('bargain', { ...about('m.xlarge'), price: '0.001' });
    await world.pass(120);
    expect(boughtTypes()).toEqual(['m.xlarge']);
  });
});
