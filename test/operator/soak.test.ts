/**
 * Hours of random cluster life. Users scale, edit and delete objects; instances are interrupted and fail. EC2 runs
 * out of capacity, throttles and returns invalid responses, and credentials expire. The API server fails, kubelets
 * stop reporting, and the operator is killed. At the end, all pods must run, and after the deletion of all objects
 * nothing may remain.
 *
 * ```sh
 * SOAK_SEED=42 SOAK_HOURS=30 SOAK_LOG=/tmp/soak.log npx jest --selectProjects operator --testPathPatterns
 * operator/soak
 * ```
 */
import { writeFileSync } from 'node:fs';
import { DescribeLaunchTemplatesCommand, EC2Client } from '@aws-sdk/client-ec2';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EC2_NODE_CLASS, isTrue, NODE_POOL } from '#api/objects';
import { type CrashableOperator, crashableOperator, marks } from './crashable-operator.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, leaks, type PoolShape, pool } from './pools.ts';
import { dice, oneIn } from './random.ts';
import {
  awsTroubles,
  calm,
  kubeTroubles,
  type Life,
  machineTroubles,
  type Troubles,
  userTroubles,
} from './soak-troubles.ts';

const SEED = Number(process.env.SOAK_SEED ?? Math.floor(Math.random() * 1_000_000));
const HOURS = Number(process.env.SOAK_HOURS ?? 1);
/** File for the logs of all operators. */
const LOG = process.env.SOAK_LOG;
const HOUR = 3_600_000;
const MINUTE = 60_000;
/** Far more than the pods need, including moved pods and instances that do not join. */
const MOST_INSTANCES = 40;
/** Time scale while faults are injected. */
const FACTOR = 60;

const roll = dice(SEED);
const APPS: readonly { readonly name: string; readonly most: number; readonly cpu: string; readonly alone?: true }[] = [
  { name: 'web', most: 12, cpu: '900m' },
  { name: 'batch', most: 5, cpu: '3' },
  { name: 'shards', most: 4, cpu: '400m', alone: true },
];
const SHAPES: Readonly<Record<string, PoolShape>> = {
  steady: { name: 'steady', cpus: [2, 4, 8], budgets: [{ nodes: '2' }], consolidateAfter: '1m' },
  cheap: {
    name: 'cheap',
    cpus: [2, 4, 8],
    capacityTypes: ['spot', 'on-demand'],
    budgets: [{ nodes: '50%' }],
    expireAfter: '40m',
    terminationGracePeriod: '10m',
  },
};

let scenario: Scenario;
let operator: CrashableOperator;
const wanted = new Map<string, number>();
const story: string[] = [];

const life: Life = {
  scenario: () => scenario,
  operator: () => operator,
  roll,
  pass: (ms) => scenario.pass(ms, FACTOR),
  shapes: SHAPES,
  apps: APPS.map(({ name }) => name),
};
const kube = kubeTroubles(life);
const machines = machineTroubles(life);
const TROUBLE: Troubles = { ...machines, ...awsTroubles(life), ...kube, ...userTroubles(life), scale: scaleSome };
const ODDS = [...Array.from({ length: 8 }, () => 'scale'), ...Object.keys(TROUBLE)];

async function scale(name: string, replicas: number): Promise<void> {
  wanted.set(name, replicas);
  await scenario.scale(name, replicas);
}

async function scaleSome(): Promise<string> {
  const app = roll.pick(APPS);
  const replicas = roll.upTo(app.most);
  await scale(app.name, replicas);
  return `scale ${app.name} to ${replicas}`;
}

/** Applies a random fault or action. Its own API requests may be refused, and there may be nothing to pick from. */
async function trouble(): Promise<string> {
  const name = roll.pick(ODDS);
  try {
    return (await TROUBLE[name]?.()) ?? '';
  } catch (error) {
    return `${name}: ${String(error).slice(0, 100)}`;
  }
}

/** Ends faults of all kinds, so that no state has a reason to persist. */
async function endTrouble(): Promise<void> {
  kube.serve();
  await machines.resume?.();
  scenario.world.aws.faults.clear();
  await calm(life);
}

const tell = (): string => `seed ${SEED}\n${story.slice(-25).join('\n')}`;

async function stragglers(): Promise<readonly string[]> {
  const odd = [...(await leaks(scenario)), ...(await marks(scenario))];
  for (const [app, replicas] of wanted) {
    const running = (await scenario.running(app)).length;
    if (running !== replicas) odd.push(`${app}: ${running} of ${replicas} run`);
  }
  for (const claim of await scenario.claims())
    if (!isTrue(claim, 'Initialized')) odd.push(`claim ${claim.metadata.name} is not initialized`);
  return odd;
}

async function launchTemplates(): Promise<number> {
  const ec2 = new EC2Client({ endpoint: scenario.world.aws.url });
  const { LaunchTemplates = [] } = await ec2.send(new DescribeLaunchTemplatesCommand({}));
  ec2.destroy();
  return LaunchTemplates.length;
}

describe(`${HOURS} h of random life with seed ${SEED}`, () => {
  beforeAll(async () => {
    scenario = await startScenario({
      ...BRISK,
      operator: false,
      argv: ['--feature-gates=NodeOverlay=true,NodeRepair=true,SpotToSpotConsolidation=true'],
      aws: { randomSeed: SEED },
    });
    operator = await crashableOperator(scenario);
    await operator.start();
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), ...Object.values(SHAPES).map(pool));
    for (const { name, cpu, alone } of APPS) {
      await scenario.apply(budgetFor(name, 1), deployment(name, 1, alone ? apart(name) : {}, { cpu }));
      wanted.set(name, 1);
    }
  }, 300_000);
  afterAll(async () => {
    if (LOG) writeFileSync(LOG, `${scenario.log.map((line) => JSON.stringify(line)).join('\n')}\n`);
    process.stdout.write(`soak: ${tell().split('\n')[0]}, ${story.length} events\n`);
    await operator.close();
    await scenario.stop();
  }, 300_000);

  it(
    'ends with every pod running and without inconsistencies',
    async () => {
      const ends = scenario.world.clock.now() + HOURS * HOUR;
      while (scenario.world.clock.now() < ends) {
        if (oneIn(roll, 4)) await endTrouble();
        story.push(`${new Date(scenario.world.clock.now()).toISOString()} ${await trouble()}`);
        await scenario.pass(roll.upTo(3 * MINUTE), FACTOR);
        expect(scenario.instances().length).toBeLessThan(MOST_INSTANCES);
      }
      await endTrouble();
      // Waits for the timeouts of the latest faults, such as the 15 minutes of an instance that never joins.
      await scenario.pass(20 * MINUTE, 120);
      let odd: readonly string[] = [];
      const rest = async (): Promise<boolean> => {
        odd = await stragglers();
        return odd.length === 0;
      };
      await scenario.until('rest', rest, 90_000).catch((error: Error) => {
        throw new Error(`${odd.join('\n')}\n${tell()}\n${error.message}`);
      });
    },
    120_000 + HOURS * 300_000,
  );

  it('leaves no resources after the deletion of all objects', async () => {
    for (const { name } of APPS) await scale(name, 0);
    for (const name of Object.keys(SHAPES)) await scenario.kube.delete(NODE_POOL, { name });
    await scenario.kube.delete(EC2_NODE_CLASS, { name: 'default' });
    await scenario.until(
      'an empty account',
      async () =>
        (await scenario.claims()).length === 0 &&
        (await scenario.nodes()).length === 0 &&
        scenario.instances().length === 0 &&
        (await scenario.kube.list(EC2_NODE_CLASS)).items.length === 0,
      90_000,
    );
    expect(await launchTemplates()).toBe(0);
    // Each deletion is logged and counted once.
    for (const message of ['deleted nodeclaim', 'deleted node']) {
      const names = scenario.log.filter((line) => line.message === message).map(({ name }) => name);
      expect(names.filter((name, index) => names.indexOf(name) !== index)).toEqual([]);
    }
  }, 300_000);
});
