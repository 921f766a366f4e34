/** A pause stops launches, disruption or both until its end, over restarts. */
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import {
  CONFIG_MAP,
  type ConfigMap,
  NODE_CLAIM,
  NODE_POOL,
  PAUSE_NAME,
  type PauseScope,
  pauseData,
} from '#api/objects';
import { VerdictHistory } from '#engine/disruption';
import { ApiError } from '#kube/client';
import { conditionOf, World } from './harness.ts';

let world: World;
let history: VerdictHistory;
beforeEach(() => {
  world = new World();
  history = new VerdictHistory();
});
afterEach(() => world.kill());

const NAMED = { name: PAUSE_NAME, namespace: 'kube-system' };

const store = (data: ConfigMap['data']): unknown =>
  world.kube.create(CONFIG_MAP, { apiVersion: 'v1', kind: 'ConfigMap', metadata: NAMED, ...(data && { data }) });
const pause = (scope: PauseScope, seconds = 3_600): unknown =>
  store({ ...pauseData({ scope, reason: 'a drill', untilMs: world.clock.now() + seconds * 1_000 }) });
const resume = (): unknown => world.kube.delete(CONFIG_MAP, NAMED);

const start = (...args: readonly string[]): void => world.start(args, history);
const gauge = async (scope: string): Promise<number | undefined> => {
  const text = await world.metrics.text();
  return Number(new RegExp(`^karpenter_paused\\{scope="${scope}"\\} (\\d)$`, 'm').exec(text)?.[1]);
};
const texts = (): readonly string[] =>
  history.verdicts(world.cluster.nodes(), world.clock.now()).map(({ code, text }) => `${code}: ${text}`);

/** Starts with three nodes that become empty. */
async function withEmptyNodes(scope: PauseScope): Promise<void> {
  world.nodePool();
  world.deploy('large', 3, '6');
  start();
  await world.pass(30);
  expect(world.nodes).toHaveLength(3);
  pause(scope);
  await world.pass(5);
  world.deploy('large', 0);
  world.removePods(...world.pods);
}

describe('a pause of launches', () => {
  beforeEach(async () => {
    world.nodePool();
    start();
    await world.pass(5);
    pause('launches');
    await world.pass(4);
  });

  it('creates no NodeClaim, and publishes the reason on the pods', async () => {
    world.pending(3);
    await world.pass(60);
    expect(world.claims).toEqual([]);
    const said = world.events.filter(({ reason }) => reason === 'PodHeld').map(({ message }) => message);
    expect(new Set(said)).toEqual(
      new Set([expect.stringMatching(/^No nodes are launched for this pod until .+: launches are paused: a drill$/)]),
    );
    expect(await gauge('launches')).toBe(1);
    expect(await gauge('disruption')).toBe(0);
  });

  it('ends when the ConfigMap is deleted', async () => {
    world.pending(1);
    await world.pass(30);
    resume();
    await world.pass(10);
    expect(world.claims).toHaveLength(1);
    expect(world.eventReasons().filter((reason) => reason.startsWith('Operator'))).toEqual([
      'OperatorPaused',
      'OperatorResumed',
    ]);
  });

  it('ends at its time, although the ConfigMap stays', async () => {
    world.pending(1);
    await world.pass(3_590);
    expect(world.claims).toEqual([]);
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
  });

  it('requests no instance for a NodeClaim that exists, and does not count the wait as a failed launch', async () => {
    resume();
    world.cloud.beforeCreate = () => {
      throw new Error('EC2 is not reachable');
    };
    world.pending(1);
    await world.pass(10);
    expect(world.claims).toHaveLength(1);
    pause('launches', 1_200);
    await world.pass(4);
    world.cloud.beforeCreate = () => undefined;
    await world.pass(1_000);
    expect(world.claims.map((claim) => conditionOf(claim, 'Launched'))).toEqual([expect.stringMatching(/^Unknown/)]);
    await world.pass(240);
    expect(world.claims.map((claim) => conditionOf(claim, 'Launched'))).toEqual(['True/Launched']);
  });

  it('creates no node of a static NodePool', async () => {
    world.kill();
    start('--feature-gates=StaticCapacity=true');
    world.nodePool('static', { replicas: 2 });
    await world.pass(60);
    expect(world.claims).toEqual([]);
    resume();
    await world.pass(60);
    expect(world.claims).toHaveLength(2);
  });
});

describe('a pause of disruption', () => {
  it('keeps empty nodes, and appears in their verdicts', async () => {
    await withEmptyNodes('disruption');
    await world.pass(120);
    expect(world.nodes).toHaveLength(3);
    expect(texts()).toEqual(Array(3).fill(expect.stringMatching(/^paused: disruption is paused until .+: a drill$/)));
    resume();
    await world.pass(60);
    expect(world.nodes).toEqual([]);
  });

  it('keeps expired nodes until its end', async () => {
    world.nodePool('default', {
      template: {
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          requirements: [],
          expireAfter: '5m',
        },
      },
      disruption: { consolidateAfter: 'Never' },
    });
    world.deploy('web', 1);
    start();
    await world.pass(30);
    const [first] = world.claims;
    pause('disruption', 900);
    await world.pass(600);
    expect(world.claims.map(({ metadata }) => metadata.uid)).toEqual([first?.metadata.uid]);
    await world.pass(600);
    expect(world.kube.find(NODE_CLAIM, { name: first?.metadata.name ?? '' })).toBeUndefined();
  });

  it('rolls back a command that waits for its replacement', async () => {
    world.nodePool();
    world.deploy('web', 1);
    start();
    await world.pass(30);
    const [old] = world.claims;
    world.joining = false;
    world.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { template: { metadata: { labels: { 'example.com/generation': '2' } } } } },
    );
    await world.pass(30);
    expect(world.disruptedNodes()).toHaveLength(1);
    pause('disruption');
    await world.pass(10);
    expect(world.disruptedNodes()).toEqual([]);
    world.joining = true;
    await world.pass(120);
    expect(world.claims.map(({ metadata }) => metadata.uid)).toContain(old?.metadata.uid);
  });

  it('launches nodes as before', async () => {
    world.nodePool();
    start();
    pause('disruption');
    world.pending(1);
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
  });
});

describe('the operator', () => {
  it('does nothing before it has read the pause, also after a restart', async () => {
    await withEmptyNodes('all');
    world.pending(1, '7900m', 'other');
    world.pending(3, '7900m', 'more');
    world.kube.beforeRead = (at) => {
      if (at === 'find configmaps') throw new ApiError(500, 'InternalError', 'out of order');
    };
    world.kill();
    start();
    await world.pass(120);
    expect(world.nodes).toHaveLength(3);
    expect(world.claims).toHaveLength(3);
    world.kube.beforeRead = () => undefined;
    await world.pass(120);
    expect(world.nodes).toHaveLength(3);
    expect(world.claims).toHaveLength(3);
  });

  it('keeps the last state while the ConfigMap cannot be read', async () => {
    world.nodePool();
    start();
    await world.pass(5);
    world.kube.beforeRead = (at) => {
      if (at === 'find configmaps') throw new ApiError(500, 'InternalError', 'out of order');
    };
    world.pending(1);
    await world.pass(30);
    expect(world.claims).toHaveLength(1);
  });

  it('works without the right to read the ConfigMap, and logs this once', async () => {
    world.nodePool();
    world.kube.beforeRead = (at) => {
      if (at === 'find configmaps') throw new ApiError(403, 'Forbidden', 'configmaps "karpenter-pause" is forbidden');
    };
    start();
    world.pending(1);
    await world.pass(60);
    expect(world.claims).toHaveLength(1);
    expect(world.errors()).toEqual(['failed reading the pause: configmaps "karpenter-pause" is forbidden']);
  });

  it.each([
    ['without data', undefined, 'data.scope is "" and must be one of launches, disruption, all'],
    ['with an unknown scope', { scope: 'drift', until: '2100-01-01T00:00:00Z' }, 'data.scope is "drift"'],
    ['without an end', { scope: 'launches', reason: 'x' }, 'data.until is "" and must be a time'],
  ])('pauses for a ConfigMap %s, and names the field', async (_, data, problem) => {
    world.nodePool();
    store(data);
    start();
    world.pending(1);
    await world.pass(60);
    expect(world.claims).toEqual([]);
    expect(world.errors()).toEqual([expect.stringContaining(problem)]);
  });
});
