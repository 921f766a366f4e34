/** World in which random clusters are played one after the other, and its cleanup between them. */
import { createWriteStream } from 'node:fs';
import { finished } from 'node:stream/promises';
import {
  CAPACITY_BUFFER,
  DAEMON_SET,
  DEPLOYMENT,
  EC2_NODE_CLASS,
  EVENT,
  JOB,
  type Kind,
  NODE,
  NODE_CLAIM,
  NODE_OVERLAY,
  NODE_POOL,
  PERSISTENT_VOLUME,
  PERSISTENT_VOLUME_CLAIM,
  POD,
  POD_DISRUPTION_BUDGET,
  POD_TEMPLATE,
  STATEFUL_SET,
  STORAGE_CLASS,
} from '#api/objects';
import { SHORTAGE_TTL_MS } from '#aws/testing';
import { reading, writeSnapshot } from '#cli/testing';
import type { Solver } from '#engine-worker';
import type { Catalogue } from '#local/aws';
import { ruleBuiltCatalogue } from '#local/machines';
import { type Scenario, startScenario } from '../harness.ts';
import type { RandomCluster } from './clusters.ts';

export const FAST = 400;
export const GATES = 'NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true,SpotToSpotConsolidation=true';
export const MINUTE = 60_000;
/** Kinds of a random cluster in the order of their removal; NodeClasses are last. */
const REMOVED: readonly Kind[] = [
  CAPACITY_BUFFER,
  POD_TEMPLATE,
  NODE_OVERLAY,
  POD_DISRUPTION_BUDGET,
  DAEMON_SET,
  STATEFUL_SET,
  DEPLOYMENT,
  JOB,
  POD,
  PERSISTENT_VOLUME_CLAIM,
  PERSISTENT_VOLUME,
  NODE_POOL,
  NODE_CLAIM,
];
const CLEARED: readonly Kind[] = [NODE_POOL, NODE_CLAIM, NODE, POD, PERSISTENT_VOLUME_CLAIM, PERSISTENT_VOLUME];
/** Kinds with objects that belong to the world itself. Only the cluster's own objects are removed. */
const OWN_ALONE: readonly Kind[] = [STORAGE_CLASS];
const SILENT = { at() {}, done() {} };

/** Returns a catalogue with enough instance types to choose from, but few enough to play one cluster per second. */
function smallCatalogue(): Catalogue {
  const zones = ['a', 'b', 'c'].map((letter, at) => ({ name: `us-west-2${letter}`, id: `usw2-az${at + 1}` }));
  const whole = ruleBuiltCatalogue(zones, 1);
  return {
    ...whole,
    types: whole.types.filter(({ InstanceType = '' }) =>
      /^(c6i|c7g|m5|m7g|r6i|t3)\.(x?large|[24]xlarge)$/.test(InstanceType),
    ),
  };
}

/** Starts a world without an operator. */
export const startStage = (solver: Solver): Promise<Scenario> =>
  startScenario({
    operator: false,
    timeScale: FAST,
    pollMs: 10,
    aws: { catalogue: smallCatalogue() },
    instances: { startDelayMs: 2_000, stopDelayMs: 2_000, terminatedVisibleMs: 60_000 },
    kubelets: { bootMs: 3_000, readyMs: 1_000 },
    env: {
      FEATURE_GATES: GATES,
      BATCH_IDLE_DURATION: '5s',
      BATCH_MAX_DURATION: '20s',
      KUBE_CLIENT_QPS: '5000',
      KUBE_CLIENT_BURST: '10000',
      LOG_LEVEL: 'debug',
    },
    solver,
  });

/** Writes the same snapshot as `karpenter snapshot`. */
export async function snapshotTo(file: string, { world }: Scenario, redact: boolean): Promise<void> {
  const output = createWriteStream(file);
  const { KUBECONFIG: kubeconfig = '' } = world.env();
  const options = { redact, output: 'json', version: 'test' } as const;
  await reading({ kubeconfig }, 'differential', (client) => writeSnapshot(client, output, options, SILENT));
  output.end();
  await finished(output);
}

/** Removes a cluster. @throws Error if some of its objects remain */
export async function clearAway(scenario: Scenario, { objects, soldOut }: RandomCluster): Promise<void> {
  const { kube, world } = scenario;
  scenario.speed(FAST);
  world.aws.faults.clear();
  const remove = async (kind: Kind): Promise<void> => {
    const { items } = await kube.list(kind);
    await Promise.all(
      items.map(({ metadata }) => kube.delete(kind, metadata, { gracePeriodSeconds: 0 }).catch(() => undefined)),
    );
  };
  for (const kind of REMOVED) await remove(kind);
  await scenario.until('an empty cluster', async () => {
    await remove(POD);
    const left = await Promise.all(CLEARED.map((kind) => kube.list(kind)));
    return left.every(({ items }) => items.length === 0);
  });
  await remove(EC2_NODE_CLASS);
  await scenario.until('no NodeClass', async () => (await kube.list(EC2_NODE_CLASS)).items.length === 0);
  for (const kind of OWN_ALONE) {
    const own = objects.filter((object) => object.kind === kind.kind);
    await Promise.all(own.map(({ metadata }) => kube.delete(kind, metadata)));
  }
  await remove(EVENT);
  await shortagesForgotten(scenario, soldOut);
}

/** Waits until the operator retries offerings that had no capacity. */
export async function shortagesForgotten(scenario: Scenario, soldOut: RandomCluster['soldOut']): Promise<void> {
  if (soldOut !== undefined) await scenario.pass(SHORTAGE_TTL_MS + MINUTE, 2_000);
}
