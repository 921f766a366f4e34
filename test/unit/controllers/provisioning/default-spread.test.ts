import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { SERVICE, ZONE_LABEL } from '#api/objects';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

const CONFIG = JSON.stringify({
  podTopologySpread: {
    defaultConstraints: [{ maxSkew: 1, topologyKey: ZONE_LABEL, whenUnsatisfiable: 'DoNotSchedule' }],
  },
});
const service = (selector: Record<string, string>): unknown =>
  world.kube.create(SERVICE, {
    apiVersion: 'v1',
    kind: 'Service',
    metadata: { name: 'web', namespace: 'default' },
    spec: { selector },
  });
const zones = (): readonly (string | undefined)[] => world.nodes.map(({ metadata }) => metadata.labels?.[ZONE_LABEL]);

describe('default topology spread', () => {
  it('applies to pods of a Service, which are placed in different zones', async () => {
    world.nodePool();
    service({ app: 'web' });
    world.start([`--scheduler-config=${CONFIG}`]);
    await world.pass(2);
    world.deploy('web', 2, '500m');
    await world.pass(20);
    expect(new Set(zones())).toEqual(new Set(['zone-a', 'zone-b']));
    const said = world.lines.filter(({ message }) => message.startsWith('scheduler-config is set,'));
    expect(said).toMatchObject([
      { level: 'info', fields: { 'default-topology-spread-constraints': [{ maxSkew: 1, topologyKey: ZONE_LABEL }] } },
    ]);
  });

  it('applies to a Service that is created later', async () => {
    world.nodePool();
    world.start([`--scheduler-config=${CONFIG}`]);
    await world.pass(2);
    world.pending(2, '500m', 'early');
    await world.pass(20);
    expect(zones()).toHaveLength(1);

    service({ app: 'web' });
    world.pending(2, '1500m');
    await world.pass(20);
    expect(new Set(zones()).size).toBe(2);
  });
});
