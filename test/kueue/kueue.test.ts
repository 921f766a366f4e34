/**
 * Kueue's own controller on a real control plane admits jobs by the operator's ProvisioningRequests. The commands of
 * docs/batch.md install it.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  CONSUME_REQUEST_ANNOTATIONS,
  type Condition,
  getCondition,
  isTrue,
  JOB,
  type KubeObject,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  POD,
  type Pod,
  PROVISIONING_REQUEST,
  type ProvisioningRequest,
} from '#api/objects';
import { applyText, type Cluster, exampleText, startCluster, until } from '../cluster/harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from '../cluster/harness/operators.ts';
import { logTails, type Process } from '../cluster/harness/processes.ts';
import { type Shell, startShell } from '../cluster/harness/shell.ts';
import { pool } from '../operator/pools.ts';
import { commandsUnder } from '../support/readme-commands.ts';
import { startKueue } from './harness/kueue.ts';
import { type ServiceProxy, startServiceProxy } from './harness/service-proxy.ts';

const API = '/apis/kueue.x-k8s.io/v1beta2';
const QUEUE = 'kueue.x-k8s.io/queue-name';
const [CONSUME] = CONSUME_REQUEST_ANNOTATIONS;
/** Several passes of the operator. */
const PASSES_MS = 8_000;
const LIMIT_MS = 120_000;

let proxy: ServiceProxy;
let cluster: Cluster;
let kueue: Process;
let operator: OperatorProcess;
let shell: Shell;
/** Commands of the page for the job and for its state. */
let create: string;
let show: string;

beforeAll(async () => {
  proxy = await startServiceProxy();
  cluster = await startCluster({ plane: { apiServerFlags: [proxy.flag] } });
  shell = await startShell(cluster.plane.folder, cluster.plane.kubeconfig);
  const commands = await commandsUnder('docs/batch.md', 'Queue jobs with Kueue');
  expect(commands).toHaveLength(6);
  const [kinds = '', gate = '', install = '', queue = ''] = commands;
  [create = '', show = ''] = commands.slice(4);
  await shell(kinds);
  await shell(gate);
  kueue = await startKueue(cluster, proxy, (chart) =>
    shell(install.replace(/oci:\S+/, chart).replace('--wait', '--set controllerManager.replicas=0')),
  );
  operator = await startOperatorProcess(cluster, { DISABLE_LEADER_ELECTION: 'true', BATCH_IDLE_DURATION: '0.5s' });
  await applyText(cluster, await exampleText('ec2nodeclass.yaml'));
  await limitPool(4);
  await explained(shell(queue));
}, 300_000);
afterAll(async () => {
  await operator?.stop();
  await kueue?.stop();
  await cluster?.stop();
  await proxy?.stop();
}, 60_000);

const apply = (...objects: readonly unknown[]): Promise<void> =>
  applyText(cluster, ...objects.map((object) => JSON.stringify(object)));

/** Adds the logs of Kueue and the operator to a failure. */
const explained = (work: Promise<unknown>): Promise<unknown> =>
  work.catch((error) => {
    throw new Error(`${String(error)}\n${logTails([kueue, operator.process], 25)}`, { cause: error });
  });

const reaches = (state: string, probe: () => Promise<boolean> | boolean): Promise<unknown> =>
  explained(until(cluster, state, probe, LIMIT_MS));

/** Two pods of the example fit on a node. */
function limitPool(nodes: number): Promise<void> {
  const { spec, ...rest } = pool() as KubeObject & { readonly spec: object };
  return apply({ ...rest, spec: { ...spec, limits: { nodes: String(nodes) } } });
}

interface Workload extends KubeObject {
  readonly spec: { readonly active?: boolean };
  readonly status: { readonly conditions?: readonly Condition[] };
}

/** Returns the Workload that Kueue has made for a job. */
async function workloadOf(job: string): Promise<Workload | undefined> {
  const { items } = (await cluster.kube.raw('GET', `${API}/namespaces/default/workloads`)) as {
    readonly items: readonly Workload[];
  };
  return items.find(({ metadata }) => metadata.ownerReferences?.some(({ name }) => name === job));
}

const setActive = async (job: string, active: boolean): Promise<void> => {
  const name = (await workloadOf(job))?.metadata.name ?? '';
  await cluster.kubectl(
    'patch',
    'workloads.kueue.x-k8s.io',
    name,
    '--type=merge',
    '-p',
    JSON.stringify({ spec: { active } }),
  );
};

/** Returns the requests of a workload. */
const requestsOf = async (name: string, kind = 'job'): Promise<readonly ProvisioningRequest[]> =>
  (await cluster.kube.list(PROVISIONING_REQUEST)).items.filter(({ metadata }) =>
    metadata.name.startsWith(`${kind}-${name}-`),
  );

const podsOf = async (job: string): Promise<readonly Pod[]> =>
  (await cluster.kube.list(POD, { namespace: 'default', labelSelector: `job-name=${job}` })).items;
const bound = async (job: string): Promise<number> =>
  (await podsOf(job)).filter(({ spec }) => spec.nodeName !== undefined).length;
const claims = async (): Promise<number> => (await cluster.kube.list(NODE_CLAIM)).items.length;
const nodes = async (): Promise<number> =>
  (await cluster.kube.list(NODE, { labelSelector: NODEPOOL_LABEL })).items.length;

/** The example with another name and queue. */
const job = async (name: string, queue = 'training'): Promise<string> =>
  (await exampleText('batch/kueue-job.yaml'))
    .replace('name: queued', `name: ${name}`)
    .replace(`${QUEUE}: training`, `${QUEUE}: ${queue}`);

describe('a job or pod without quota in its queue', () => {
  it('launches no nodes while it is suspended or gated', async () => {
    await apply(
      {
        apiVersion: 'kueue.x-k8s.io/v1beta2',
        kind: 'ClusterQueue',
        metadata: { name: 'empty' },
        spec: {
          namespaceSelector: {},
          resourceGroups: [
            {
              coveredResources: ['cpu', 'memory'],
              flavors: [{ name: 'default', resources: ['cpu', 'memory'].map((name) => ({ name, nominalQuota: '0' })) }],
            },
          ],
        },
      },
      {
        apiVersion: 'kueue.x-k8s.io/v1beta2',
        kind: 'LocalQueue',
        metadata: { name: 'empty', namespace: 'default' },
        spec: { clusterQueue: 'empty' },
      },
    );
    await applyText(
      cluster,
      await job('waiting', 'empty'),
      JSON.stringify({
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: 'gated', namespace: 'default', labels: { [QUEUE]: 'empty' } },
        spec: { containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '1', memory: '1Gi' } } }] },
      }),
    );
    await reaches('a Workload of the job', async () => (await workloadOf('waiting')) !== undefined);
    await reaches('a gated pod', async () => {
      const pod = await cluster.kube.find(POD, { name: 'gated', namespace: 'default' });
      return pod !== undefined && getCondition(pod, 'PodScheduled')?.reason === 'SchedulingGated';
    });
    await sleep(PASSES_MS);
    expect([await podsOf('waiting'), await claims(), cluster.world.aws.instances.list().length]).toEqual([[], 0, 0]);
  }, 180_000);
});

describe('a job in a queue with the check of ProvisioningRequests', () => {
  it('gets its pods after nodes for all of them are initialized, and the pods use these nodes', async () => {
    await shell(create);
    await reaches('a request', async () => (await requestsOf('queued')).length === 1);
    let early = 0;
    await reaches('provisioned capacity', async () => {
      const [request] = await requestsOf('queued');
      if (request && isTrue(request, 'Provisioned')) return true;
      early += (await podsOf('queued')).length;
      return false;
    });
    expect([early, await claims(), await nodes()]).toEqual([0, 4, 4]);
    for (const node of (await cluster.kube.list(NODE_CLAIM)).items) expect(isTrue(node, 'Initialized')).toBe(true);

    await reaches('eight bound pods', async () => (await bound('queued')) === 8);
    await reaches('a consumed booking', async () => {
      const [request] = await requestsOf('queued');
      return getCondition(request as ProvisioningRequest, 'BookingExpired')?.reason === 'CapacityBookingConsumed';
    });
    const [request] = await requestsOf('queued');
    expect(request?.status?.provisioningClassDetails).toMatchObject({ [NODEPOOL_LABEL]: 'default' });
    for (const { metadata, spec } of await podsOf('queued')) {
      expect(metadata.annotations).toMatchObject({ [CONSUME]: request?.metadata.name });
      expect(spec.nodeSelector).toEqual({ [NODEPOOL_LABEL]: 'default' });
    }
    const shown = await shell(show);
    expect(shown).toMatch(/^workload\S+\/job-queued-\S+ +training +training +True/m);
    expect(shown).toMatch(/^nodeclaim\S+\/default-\S+/m);
    expect([await claims(), await nodes()]).toEqual([4, 4]);
  }, 300_000);

  it('returns its nodes when Kueue evicts its Workload', async () => {
    await setActive('queued', false);
    await reaches('no pods', async () => (await podsOf('queued')).length === 0);
    await reaches('no nodes', async () => (await claims()) === 0 && (await nodes()) === 0);
    expect(isTrue((await workloadOf('queued')) as Workload, 'Evicted')).toBe(true);
  }, 300_000);

  it('is tried again by Kueue after a shortage, without nodes for a part of its pods', async () => {
    await limitPool(3);
    await applyText(
      cluster,
      (await exampleText('batch/kueue.yaml'))
        .replace('ValidUntilSeconds: "900"', 'ValidUntilSeconds: "20"')
        .replace('backoffBaseSeconds: 60', 'backoffBaseSeconds: 1'),
    );
    await applyText(cluster, await job('again'));
    await reaches('a refused request', async () => {
      const [first] = await requestsOf('again');
      return (first && getCondition(first, 'Provisioned'))?.message?.includes('has reached its limit') ?? false;
    });
    expect([await claims(), (await podsOf('again')).length]).toEqual([0, 0]);
    // Kueue deletes earlier requests
    const retried = async (): Promise<boolean> =>
      (await requestsOf('again')).some(({ metadata }) => /-karpenter-([2-9]|10)$/.test(metadata.name));
    await reaches('another attempt', retried);
    expect([await claims(), (await podsOf('again')).length]).toEqual([0, 0]);

    await limitPool(4);
    await reaches('eight bound pods', async () => (await bound('again')) === 8);
    expect([await claims(), await nodes()]).toEqual([4, 4]);
    expect((await cluster.kube.find(JOB, { name: 'again', namespace: 'default' }))?.spec).toMatchObject({
      suspend: false,
    });
  }, 300_000);
});

describe('a workload with several sets of pods in a queue', () => {
  it.each([
    {
      kind: 'jobset',
      name: 'simulation',
      counts: [1, 4],
      path: '/apis/jobset.x-k8s.io/v1alpha2/namespaces/default/jobsets',
    },
    { kind: 'raycluster', name: 'ray', counts: [1, 4], path: '/apis/ray.io/v1/namespaces/default/rayclusters' },
  ])('of the kind $kind starts after nodes for all sets exist', async ({ kind, name, counts, path }) => {
    await limitPool(20);
    const text = await exampleText(`batch/${kind}.yaml`);
    await applyText(cluster, text.replace(`  name: ${name}\n`, `  name: ${name}\n  labels: { ${QUEUE}: training }\n`));
    const suspended = async (): Promise<unknown> =>
      (
        (await cluster.kube.raw('GET', `${path}/${name}`)) as KubeObject & {
          readonly spec: { readonly suspend?: boolean };
        }
      ).spec.suspend;
    expect(await suspended()).toBe(true);
    await reaches('provisioned capacity', async () => {
      const [request] = await requestsOf(name, kind);
      return request !== undefined && isTrue(request, 'Provisioned');
    });
    const [request] = await requestsOf(name, kind);
    expect(request?.spec.podSets.map(({ count }) => count).toSorted()).toEqual(counts);
    await reaches('a start', async () => (await suspended()) === false);
  }, 300_000);

  it('of the kind leaderworkerset is valid', async () => {
    const file = 'examples/batch/leaderworkerset.yaml';
    expect(await shell(`kubectl apply --server-side --dry-run=server -f ${file}`)).toContain('serverside-applied');
  });
});
