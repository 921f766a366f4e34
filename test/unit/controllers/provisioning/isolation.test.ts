/**
 * The law of isolation, in virtual time: whatever the pods of one namespace do, pods of another namespace get their nodes within
 * twice the usual time plus 30 seconds. The time of solves counts: each trial of a pod takes some milliseconds.
 */
import { afterEach, describe, expect, it } from '@jest/globals';
import { NODE, type Node, type Pod } from '#api/objects';
import { solve } from '#engine/solve';
import type { Solver } from '#engine-worker';
import type { Clock } from '#lib/clock';
import { LaunchWorld } from './launch-world.ts';

const ATTACKER = 'attacker';
const TEAM = 'team';
/** Time from the start of the attack until the other pods are created, and the limit for these pods in the same world. */
const ATTACK_SECONDS = 90;
const LIMIT_SECONDS = 600;
/** Virtual time of one trial of a pod, as for ten thousand pods with different selectors in a real solve. */
const TRIAL_MS = 4;

let world: LaunchWorld;
afterEach(() => world.kill());

let serial = 0;
const attackerPod = (spec: Partial<Pod['spec']> = {}, cpu = '1', namespace = ATTACKER): Pod =>
  world.createPod(spec, cpu, { namespace });
const selecting = (value: string): Partial<Pod['spec']> => ({ nodeSelector: { [TEAM]: value } });

/** Labels that the NodePool declares and that nodes lose. */
const LOST = Array.from({ length: 12 }, (_, at) => `lost-${at}`);
const stripLost = (node: Node): void => {
  const lost = LOST.filter((key) => node.metadata.labels?.[key]);
  if (lost.length > 0)
    world.kube.patch(NODE, node.metadata, { metadata: { labels: Object.fromEntries(lost.map((key) => [key, null])) } });
};

const isOfAttacker = (node: Node): boolean => node.metadata.labels?.[TEAM]?.startsWith('x') ?? false;
const stripLabel = (node: Node): void => {
  if (isOfAttacker(node)) world.kube.patch(NODE, node.metadata, { metadata: { labels: { [TEAM]: null } } });
};
const taintByWebhook = (node: Node): void => {
  const taints = node.spec?.taints ?? [];
  if (isOfAttacker(node) && !taints.some(({ key }) => key === 'webhook'))
    world.kube.patch(NODE, node.metadata, { spec: { taints: [...taints, { key: 'webhook', effect: 'NoSchedule' }] } });
};

interface Attack {
  readonly name: string;
  readonly meddle?: (node: Node) => void;
  /** Runs each second. */
  readonly act: (second: number) => void;
  readonly mostLaunches?: number;
  /** Time until the other pods are created. Default: 90 s. */
  readonly seconds?: number;
}

/** Solver whose virtual time passes with the trials of pods. */
function solverOn(clock: Clock): Solver {
  return async (snapshot, options) => {
    let [timeMs, hasStarted] = [0, false];
    const elapsedMs = (): number => {
      hasStarted = true;
      return timeMs;
    };
    const working = (): void => {
      if (hasStarted) timeMs += TRIAL_MS;
    };
    const plan = solve(snapshot, { ...options, elapsedMs, working });
    await clock.sleep(timeMs);
    return plan;
  };
}

/** Keeps this many different pods pending. */
const keepPending =
  (count: number, spec: (at: number) => Partial<Pod['spec']>, namespace = ATTACKER) =>
  (): void => {
    const pending = world.pods.filter(({ metadata, spec: own }) => metadata.namespace === namespace && !own.nodeName);
    for (let missing = count - pending.length; missing > 0; missing -= 1)
      attackerPod(spec(serial++), `${1000 + serial}m`, namespace);
  };

let launchedBefore = 0;
/** Deletes the pods as soon as nodes were launched for them, and creates further pods. */
function deleteAtLaunch(count: number, spec: () => Partial<Pod['spec']>): void {
  const own = world.pods.filter(({ metadata }) => metadata.namespace === ATTACKER);
  if (own.length > 0 && world.cloud.creations === launchedBefore) return;
  world.removePods(...own);
  launchedBefore = world.cloud.creations;
  for (let at = 0; at < count; at += 1) attackerPod(spec());
}

const ATTACKS: readonly Attack[] = [
  {
    name: 'pods that are deleted as soon as their launches appear',
    act: () => deleteAtLaunch(5, () => selecting(`x${serial++}`)),
    mostLaunches: 15,
  },
  {
    name: 'deleted pods with one pod that could use every node, but is never bound',
    act: (second) => {
      if (second === 0) world.createPod({ schedulerName: 'none', tolerations: [{ operator: 'Exists' }] }, '1m');
      deleteAtLaunch(5, () => selecting(`x${serial++}`));
    },
    mostLaunches: 15,
  },
  {
    name: 'pods that select labels that never appear',
    meddle: stripLabel,
    act: keepPending(10, (at) => selecting(`x${at}`)),
    mostLaunches: 15,
  },
  {
    name: 'pods that each lack another label',
    meddle: stripLost,
    act: keepPending(10, (at) => ({ nodeSelector: { [LOST[at % LOST.length] ?? '']: 'a' } })),
    mostLaunches: 15,
  },
  {
    name: 'a pod that is created again for each node without its label',
    meddle: stripLabel,
    act: (second) => {
      if (second % 5 === 0) deleteAtLaunch(1, () => selecting(`x${serial++}`));
    },
    mostLaunches: 15,
  },
  {
    name: 'nodes that a webhook taints',
    meddle: taintByWebhook,
    act: keepPending(10, (at) => selecting(`x${at}`)),
    mostLaunches: 15,
  },
  {
    name: 'nodes of three namespaces that a webhook taints',
    meddle: taintByWebhook,
    act: () => {
      for (const namespace of [ATTACKER, 'attacker-b', 'attacker-c'])
        keepPending(5, (at) => selecting(`x${at}`), namespace)();
    },
    mostLaunches: 24,
  },
  {
    name: 'ten thousand pending pods that no instance type fits',
    act: (second) => {
      if (second < 10) for (let at = 0; at < 1_000; at += 1) attackerPod({}, `${100_000 + serial++}m`);
    },
    mostLaunches: 0,
    seconds: 15,
  },
  {
    name: 'ten thousand pending pods that select labels that never appear',
    meddle: stripLabel,
    act: (second) =>
      keepPending(second < 60 ? 10 : Math.min(10_000, (second - 59) * 1_000), (at) => selecting(`x${at}`))(),
    seconds: 75,
    mostLaunches: 15,
  },
  {
    name: 'huge pods that are bound',
    act: (second) => {
      if (second % 10 === 0) for (let at = 0; at < 20; at += 1) attackerPod({}, '7500m');
    },
  },
];

/** Returns the seconds until pods of another namespace are bound. */
async function secondsUntilBound({
  meddle,
  act,
  seconds: attackSeconds = ATTACK_SECONDS,
}: Partial<Attack>): Promise<number> {
  world = new LaunchWorld();
  world.solver = solverOn(world.clock);
  world.createPoolWith([
    { key: TEAM, operator: 'Exists' },
    ...LOST.map((key) => ({ key, operator: 'In' as const, values: ['a', 'b'] })),
  ]);
  if (meddle) world.meddle = meddle;
  launchedBefore = 0;
  await world.begin();
  const step = async (second: number): Promise<void> => {
    act?.(second);
    await world.pass(1);
  };
  for (let second = 0; second < attackSeconds; second += 1) await step(second);
  launches = world.cloud.creations;
  const victims = Array.from({ length: 3 }, () => world.createPod({}, '3', { namespace: 'victim' }));
  let seconds = 0;
  while (seconds < LIMIT_SECONDS && !victims.every((pod) => world.isBound(pod))) {
    await step(attackSeconds + seconds);
    seconds += 1;
  }
  return seconds;
}
let launches = 0;

describe('a pod of another namespace', () => {
  it.each(ATTACKS)('gets its node despite $name', async (attack) => {
    const usual = await secondsUntilBound({});
    world.kill();
    expect(await secondsUntilBound(attack)).toBeLessThanOrEqual(2 * usual + 30);
    if (attack.mostLaunches !== undefined) expect(launches).toBeLessThanOrEqual(attack.mostLaunches);
  });
});
