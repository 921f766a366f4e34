/** The operator with a provider other than AWS. The provider is in this folder, and only it differs. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, it } from '@jest/globals';
import {
  DEPLOYMENT,
  getCondition,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type NodePool,
  POD,
  type Workload,
} from '#api/objects';
import { customResourceDefinitions } from '#api/schema';
import { cachesInProcess, connectInProcess } from '#local/api-server';
import { startScheduler, startWorkloads } from '#local/cluster';
import { type LocalApiServer, startApiServer } from '#local/testing';
import { type Operator, startOperator } from '../../../src/main.ts';
import { connectForPolls, type KubeApi } from '../../support/kube-api.ts';
import { type PacedClock, pacedClock } from '../../support/paced-clock.ts';
import { deployment } from '../harness.ts';
import { MACHINE_CLASS, MACHINE_CLASS_CRD, type MachineClass, machineClass, machineProvider } from './provider.ts';
import { Rack } from './rack.ts';

const MACHINES: MachineClass['spec']['machines'] = [
  { name: 'small', cpu: 4, memoryGiB: 16, usdPerHour: 0.2 },
  { name: 'large', cpu: 16, memoryGiB: 64, usdPerHour: 0.7 },
  { name: 'overpriced', cpu: 16, memoryGiB: 64, usdPerHour: 1.9 },
];

const POOL = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: MACHINE_CLASS.group, kind: MACHINE_CLASS.kind, name: 'default' },
        expireAfter: 'Never',
        requirements: [{ key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] }],
      },
    },
    disruption: {
      consolidationPolicy: 'WhenEmptyOrUnderutilized',
      consolidateAfter: '0s',
      budgets: [{ nodes: '100%' }],
    },
  },
} as unknown as KubeObject;

let server: LocalApiServer;
let clock: PacedClock;
let kube: KubeApi;
let rack: Rack;
let operator: Operator;
let folder: string;
const life = new AbortController();
const log: string[] = [];

beforeEach(async () => {
  clock = pacedClock(25);
  server = await startApiServer({ clock, host: '127.0.0.1' });
  const client = connectInProcess(server);
  const caches = cachesInProcess(server);
  const parts = { client, caches, clock, signal: life.signal, log: () => undefined };
  for (const crd of customResourceDefinitions()) if (crd.spec.names.kind !== 'EC2NodeClass') server.install(crd);
  server.install(MACHINE_CLASS_CRD);
  await startWorkloads(parts, { heartbeats: false });
  await startScheduler(parts);
  kube = connectForPolls(server);
  rack = new Rack(parts);
  folder = await mkdtemp(join(tmpdir(), 'karpenter-machines-'));
  await writeFile(join(folder, 'kubeconfig'), server.kubeconfig());
  operator = await startOperator({
    configureProvider: machineProvider(rack),
    argv: [],
    env: {
      KUBECONFIG: join(folder, 'kubeconfig'),
      CLUSTER_NAME: 'machines',
      SYSTEM_NAMESPACE: 'kube-system',
      METRICS_PORT: '0',
      HEALTH_PROBE_PORT: '0',
      STEERING: 'false',
      DISABLE_LEADER_ELECTION: 'true',
    },
    clock,
    write: (line) => log.push(line),
  });
});

afterEach(async () => {
  await operator.stop();
  life.abort();
  await server.close();
  clock.stop();
  await rm(folder, { recursive: true });
});

async function until(what: string, holds: () => boolean | Promise<boolean>): Promise<void> {
  const started = clock.calmMs();
  while (!(await holds())) {
    if (clock.calmMs() - started > 60_000) throw new Error(`no ${what}\n${log.slice(-15).join('\n')}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

/** Returns the names of the machines. */
const machines = (): readonly string[] =>
  rack.list().map(({ launched }) => launched.metadata.labels?.['node.kubernetes.io/instance-type'] ?? '');

const runs = (pods: number) => async (): Promise<boolean> =>
  (await kube.list(POD)).items.filter(({ status }) => status?.phase === 'Running').length === pods;

it('runs provisioning, consolidation, drift and termination with a provider other than AWS', async () => {
  await kube.create(MACHINE_CLASS, machineClass({ image: 'v1', machines: MACHINES }));
  await kube.create(NODE_POOL, POOL as NodePool);
  await kube.create(DEPLOYMENT, deployment('web', 12, {}, { cpu: '1' }) as Workload);
  await until('running pods', runs(12));
  expect(machines()).toEqual(['large']);
  const [pool] = (await kube.list(NODE_POOL)).items;
  expect(pool && getCondition(pool, 'Ready')?.status).toBe('True');

  await kube.patch(DEPLOYMENT, { name: 'web', namespace: 'default' }, { spec: { replicas: 2 } });
  await until('cheaper machine', () => machines().length === 1 && machines()[0] === 'small');
  await until('running pods', runs(2));

  const [before] = rack.list();
  await kube.patch(MACHINE_CLASS, { name: 'default' }, { spec: { image: 'v2' } });
  await until('machine with the new image', () => rack.list().length === 1 && rack.list()[0] !== before);
  expect(machines()).toEqual(['small']);
  await until('NodeClaims with the new image', async () =>
    (await kube.list(NODE_CLAIM)).items.every(({ status }) => status?.imageID === 'v2'),
  );
  await until('running pods', runs(2));

  await kube.patch(DEPLOYMENT, { name: 'web', namespace: 'default' }, { spec: { replicas: 0 } });
  await until('cluster without machines', () => rack.list().length === 0);
  await until('end of the objects', async () => {
    const left = await Promise.all([kube.list(NODE), kube.list(NODE_CLAIM)]);
    return left.every(({ items }) => items.length === 0);
  });
  expect(log.filter((line) => line.includes('"level":"ERROR"'))).toEqual([]);
}, 300_000);
