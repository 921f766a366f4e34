/** Stages of the demo in order. Each stage performs a user's action and waits until the cluster shows the effect. */

import { readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { parseAllDocuments } from 'yaml';
import { DEPLOYMENT, EC2_NODE_CLASS, type Kind, type KubeObject, NODE_POOL } from '#api/objects';
import type { LocalInstance } from '#local/aws';
import type { World } from '#local/world';
import type { Bills } from './bills.ts';
import type { Narrator } from './narrator.ts';
import { type Screen, usdText } from './screen.ts';
import type { View } from './view.ts';

export interface DemoStage {
  readonly world: World;
  readonly view: View;
  readonly screen: Screen;
  readonly narrator: Narrator;
  readonly bills: Bills;
}

const REPLICAS = 20;
const EXAMPLES = ['ec2nodeclass.yaml', 'nodepool.yaml', 'inflate.yaml'];
/** Real time after which a stage fails. */
const LIMIT_MS = 60_000;

const exampleFile = (name: string): string => {
  const bundled = new URL(`../../examples/${name}`, import.meta.url);
  const source = new URL(`../../../examples/${name}`, import.meta.url);
  return fileURLToPath(import.meta.url.endsWith('.ts') ? source : bundled);
};

/** Runs the equivalent of `kubectl apply --server-side -f examples/`. */
export async function applyExamples({ world, view, screen }: DemoStage): Promise<void> {
  screen.stage('kubectl apply -f examples/');
  for (const file of EXAMPLES) {
    const text = readFileSync(exampleFile(file), 'utf8').replaceAll(
      'KarpenterNodeRole-local',
      `KarpenterNodeRole-${world.clusterName}`,
    );
    for (const document of parseAllDocuments(text)) {
      const object = document.toJS() as KubeObject;
      const { apiVersion, kind, metadata } = object;
      const ref = { apiVersion, kind, ...metadata };
      world.kube.server.objects.patch(ref, 'apply', object, { fieldManager: 'demo', force: true });
      screen.line(`applied     ${object.kind} ${object.metadata.name}`);
    }
  }
  const isReady = (kind: Kind): boolean => view.isReady(kind, 'default');
  await view.until(
    'Ready EC2NodeClass',
    () => isReady(EC2_NODE_CLASS),
    LIMIT_MS,
    () => screen.progress('waiting for subnets, security groups, AMIs and the instance profile of the EC2NodeClass'),
  );
  await view.until('Ready NodePool', () => isReady(NODE_POOL), LIMIT_MS);
  screen.line('ready       EC2NodeClass default and NodePool default');
}

const scale = (world: World, replicas: number): Promise<unknown> =>
  world.kube.client.patch(DEPLOYMENT, { name: 'inflate', namespace: 'default' }, { spec: { replicas } });

/** Scales the workload up from zero, so that nodes are launched and pods start. */
export async function scaleUp({ world, view, screen, narrator }: DemoStage): Promise<void> {
  screen.stage(`kubectl scale deployment inflate --replicas=${REPLICAS}`);
  narrator.startTiming();
  await scale(world, REPLICAS);
  await view.until(
    `${REPLICAS} running pods`,
    () => view.running().length === REPLICAS,
    LIMIT_MS,
    () => screen.progress(`${view.running().length} of ${REPLICAS} pods running on ${view.nodeCount()} nodes`),
  );
  screen.line(
    `running     ${REPLICAS} of ${REPLICAS} pods on ${view.nodeCount()} nodes; the slowest took ${(narrator.slowestStartMs() / 1000).toFixed(1)} s from pending to running`,
  );
}

const isAlive = (instance: LocalInstance): boolean => instance.state === 'pending' || instance.state === 'running';

/** Interrupts a spot instance, so that its node is replaced and drained within two minutes. */
export async function interruptSpot({ world, view, screen, narrator }: DemoStage): Promise<void> {
  const victim = world.aws.instances.list().find((instance) => instance.capacityType === 'spot' && isAlive(instance));
  if (victim === undefined) {
    screen.stage('No spot instance to interrupt, because the cheapest offerings were on-demand');
    return;
  }
  screen.stage(`EC2 interrupts spot instance ${victim.id} in two minutes`);
  narrator.startTiming();
  world.aws.faults.interrupt(victim.id);
  screen.line(`warning     ${victim.type} in ${victim.zone}, message sent to queue ${world.aws.queue.name}`);
  const isGone = (): boolean => !view.claims.list().some((claim) => claim.status?.providerID?.endsWith(victim.id));
  await view.until(
    'replacement of the interrupted node',
    () => isGone() && view.running().length === REPLICAS,
    LIMIT_MS,
    () => screen.progress(`${view.running().length} of ${REPLICAS} pods running`),
  );
  screen.line(
    `replaced    all ${REPLICAS} pods are running again; the slowest took ${(narrator.slowestStartMs() / 1000).toFixed(1)} s`,
  );
}

/** Scales to zero, so that the empty nodes are removed. */
export async function scaleToZero({ world, view, screen, bills }: DemoStage): Promise<void> {
  screen.stage('kubectl scale deployment inflate --replicas=0');
  const before = bills.usdPerHour;
  await scale(world, 0);
  await view.until(
    'consolidation of the empty nodes',
    () => view.claims.list().length === 0,
    LIMIT_MS,
    () =>
      screen.progress(
        `${view.claims.list().length} nodes left; empty nodes are validated again after 15 s before they are removed`,
      ),
  );
  screen.line(`removed     every node: ${usdText(before)} an hour before, ${usdText(bills.usdPerHour)} now`);
}
