/** Launches of gangs are one transaction: without room for the rest, the launched part is returned. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { GANG_ANNOTATION, GANG_MIN_ANNOTATION, GANGS_ANNOTATION, NODE_CLAIM, NODE_POOL, type Pod } from '#api/objects';
import { LaunchWorld, MINUTE } from './launch-world.ts';

let world: LaunchWorld;

beforeEach(async () => {
  world = new LaunchWorld();
  world.nodePool('default');
  await world.begin();
});
afterEach(() => world.kill());

const createGang = (pods: number, name = 'train'): readonly Pod[] => {
  const annotations = { [GANG_ANNOTATION]: name, [GANG_MIN_ANNOTATION]: String(pods) };
  return Array.from({ length: pods }, () =>
    world.createPod(
      { containers: [{ name: 'main', resources: { requests: { cpu: '3' } }, ports: [{ hostPort: 80 }] }] },
      '3',
      {
        annotations,
      },
    ),
  );
};

const bound = (pods: readonly Pod[]): number => pods.filter((pod) => world.isBound(pod)).length;
const ended = (): number => world.eventReasons().filter((reason) => reason === 'GangLaunchEnded').length;
/** Limits the number of nodes while the first ones are being launched, like a shortage. */
const limitTo = (nodes: number): void =>
  void world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { limits: { nodes: String(nodes) } } });

describe('the launch of a gang', () => {
  it('is complete, and its NodeClaims carry the id of the gang', async () => {
    const pods = createGang(3);
    await world.pass(MINUTE);
    expect(bound(pods)).toBe(3);
    const ids = world.claims.map(({ metadata }) => metadata.annotations?.[GANGS_ANNOTATION]);
    expect(ids).toEqual(Array(3).fill('["karpenter-ts.sh/gang default/train"]'));
  });

  it('requests no instance if the limits have room for a part', async () => {
    limitTo(2);
    createGang(3);
    await world.pass(2 * MINUTE);
    expect([world.cloud.creations, world.claims.length, ended()]).toEqual([0, 0, 0]);
  });

  it('returns its nodes if the rest cannot be launched, and waits longer after each failure', async () => {
    world.joining = false;
    createGang(3);
    while (world.cloud.creations < 3) await world.pass(1);
    await breakOne();
    await world.pass(2 * MINUTE);
    expect([world.claims, await world.cloud.list()]).toEqual([[], []]);
    expect(ended()).toBe(2);
    const holds = world.launches?.gangs.holds();
    expect([...(holds ?? [])]).toEqual([
      [
        'karpenter-ts.sh/gang default/train',
        expect.stringMatching(
          /^its last launch was not complete: gang train needs 3 pods together, room for 2: NodePool .*nodes 2 of 2.*\(ended 2 nodes, \$0\.\d+\); the next attempt is at /,
        ),
      ],
    ]);
    const before = world.cloud.creations;
    limitTo(10);
    await world.pass(MINUTE);
    expect(world.cloud.creations).toBe(before);
    await world.pass(5 * MINUTE);
    expect(world.cloud.creations).toBe(before + 3);
  });

  it('is ended by the next leader', async () => {
    world.joining = false;
    createGang(3);
    while (world.cloud.creations < 3) await world.pass(1);
    await breakOne();
    await world.pass(10);
    world.kill();
    await world.begin();
    await world.pass(2 * MINUTE);
    expect([world.claims, await world.cloud.list()]).toEqual([[], []]);
  });

  it('is continued by the next leader without a second launch for a pod', async () => {
    world.joining = false;
    const pods = createGang(3);
    while (world.claims.length === 0) await world.pass(1);
    world.kill();
    world.joining = true;
    await world.begin();
    await world.pass(2 * MINUTE);
    expect([bound(pods), world.claims.length, world.nodes.length]).toEqual([3, 3, 3]);
  });
});

/** Removes a NodeClaim of the gang, and leaves no room for another one. */
async function breakOne(): Promise<void> {
  limitTo(2);
  const [first] = world.claims;
  if (first !== undefined) world.kube.delete(NODE_CLAIM, first.metadata);
  await world.pass(1);
}
