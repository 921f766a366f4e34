/** Names of controllers in metrics and logs. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { World } from './harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

describe('a controller', () => {
  const shown = async (...args: readonly string[]): Promise<readonly string[]> => {
    world.start(args);
    await world.pass(1);
    const series = (await world.metrics.text()).matchAll(
      /^controller_runtime_max_concurrent_reconciles\{controller="([^"]+)"\}/gm,
    );
    return [...series].map(([, name]) => name ?? '').sort();
  };
  const NAMES = [
    'disruption',
    'disruption.queue',
    'eviction-queue',
    'metrics.node',
    'metrics.nodepool',
    'metrics.pod',
    'node.hydration',
    'node.termination',
    'nodeclaim.consistency',
    'nodeclaim.disruption',
    'nodeclaim.expiration',
    'nodeclaim.garbagecollection',
    'nodeclaim.hydration',
    'nodeclaim.lifecycle',
    'nodeclaim.podevents',
    'nodepool.counter',
    'nodepool.hash',
    'nodepool.offered',
    'nodepool.readiness',
    'nodepool.registrationhealth',
    'nodepool.validation',
    'operatorpkg.ec2nodeclass.status',
    'operatorpkg.node.status',
    'operatorpkg.nodeclaim.status',
    'operatorpkg.nodepool.status',
    'provisioner',
    'provisioner.launches',
    'provisioner.trigger.node',
    'provisioner.trigger.pod',
    'state.nodeclaimgc',
  ];

  it('has a stable name for dashboards and log queries', async () => {
    expect(await shown()).toEqual(expect.arrayContaining(NAMES));
  });

  it('runs if the feature gate of its feature is enabled', async () => {
    const gated = ['static.deprovisioning', 'static.provisioning'];
    expect(await shown('--feature-gates=StaticCapacity=false')).not.toEqual(expect.arrayContaining([gated[0]]));
    world.kill();
    world = new World();
    expect(await shown()).toEqual(expect.arrayContaining(gated));
    world.kill();
    world = new World();
    expect(await shown('--feature-gates=NodeOverlay=true')).toEqual(expect.arrayContaining(['nodeoverlay.controller']));
  });
});
