/** An operator that starts in a cluster of ten thousand pods. */
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { isTrue, NODE, NODE_CLAIM, NODE_POOL, type Node, POD, type Pod } from '#api/objects';
import { freePort } from '../support/free-port.ts';
import { applyText, type Cluster, exampleText, startCluster, until } from './harness/cluster.ts';
import { storeInEtcd } from './harness/etcd.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';

const NODES = 100;
const PODS_A_NODE = 100;
const AT_ONCE = 32;
/** The chart's example sets a limit of one gigabyte. */
const MOST_MEMORY_KB = 900 * 1_024;
/** Kubelets kill a container after three slower probes in a row. CPU time, because other processes may delay a response. */
const PROBE_LIMIT_CPU_MS = 5_000;
/** Linux counts CPU time in hundredths of a second. */
const TICK_MS = 10;

const nodeName = (index: number): string => `ready-${index}`;

const node = (index: number): Node => ({
  apiVersion: 'v1',
  kind: 'Node',
  metadata: { name: nodeName(index), labels: { 'kubernetes.io/hostname': nodeName(index) } },
  spec: { providerID: `other:///${index}` },
});

const pod = (name: string, nodeName?: string): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace: 'default', labels: { app: 'many' } },
  spec: {
    ...(nodeName ? { nodeName } : {}),
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: '10m', memory: '16Mi' } } }],
  },
});

/** A pod as the API server stores it. */
function stored(index: number): Pod {
  const { metadata, ...rest } = pod(`many-${index}`, nodeName(index % NODES));
  const creationTimestamp = new Date(Math.floor(Date.now() / 1_000) * 1_000).toISOString().replace('.000', '');
  return { ...rest, metadata: { ...metadata, uid: randomUUID(), creationTimestamp }, status: { phase: 'Pending' } };
}

async function inParallel(count: number, work: (index: number) => Promise<unknown>): Promise<void> {
  let next = 0;
  const worker = async (): Promise<void> => {
    for (let index = next++; index < count; index = next++) await work(index);
  };
  await Promise.all(Array.from({ length: AT_ONCE }, worker));
}

describe('an operator that starts in a cluster of ten thousand pods', () => {
  let cluster: Cluster;
  let operator: OperatorProcess;
  let probePort = 0;

  beforeAll(async () => {
    // No controllers handle the pods, because these nodes have no kubelets.
    cluster = await startCluster({ plane: { controllers: false }, world: { systemNodes: 0 } });
    const { kube } = cluster;
    const ready = {
      conditions: [{ type: 'Ready', status: 'True' }],
      allocatable: { cpu: '8', memory: '32Gi', pods: '110' },
    };
    await inParallel(NODES, async (index) => {
      await kube.create(NODE, node(index));
      await kube.patch(NODE, { name: nodeName(index) }, { status: ready }, { subresource: 'status' });
    });
    const pods = Array.from({ length: NODES * PODS_A_NODE }, (_, index) => stored(index));
    await storeInEtcd(cluster.plane, 'pods', pods);
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'), await exampleText('nodepool.yaml'));
    probePort = await freePort();
  }, 300_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  /** Returns the highest memory of the operator in KiB, or 0 if the system does not report it. */
  const memory = async (): Promise<number> => {
    if (process.platform !== 'linux') return 0;
    const status = await readFile(`/proc/${operator.process.pid}/status`, 'utf8');
    return Number(/VmHWM:\s+(\d+)/.exec(status)?.[1]);
  };

  /** Returns the CPU time of the operator's main thread in milliseconds, or 0 if the system does not report it. */
  const mainThreadMs = async (): Promise<number> => {
    if (process.platform !== 'linux') return 0;
    const { pid } = operator.process;
    const fields = (await readFile(`/proc/${pid}/task/${pid}/stat`, 'utf8')).split(') ')[1]?.split(' ') ?? [];
    return (Number(fields[11]) + Number(fields[12])) * TICK_MS;
  };

  /** Returns the CPU time of the main thread during a liveness probe, or undefined before the operator serves it. */
  const probe = async (): Promise<number | undefined> => {
    const before = await mainThreadMs();
    try {
      await fetch(`http://127.0.0.1:${probePort}/healthz`);
    } catch {
      return undefined;
    }
    return (await mainThreadMs()) - before;
  };

  it('lists the pods in pages, responds to probes meanwhile, and launches a node for the pending pod', async () => {
    operator = await startOperatorProcess(cluster, {
      HEALTH_PROBE_PORT: String(probePort),
      DISABLE_LEADER_ELECTION: 'true',
    });
    let longestMs = 0;
    const look = async (): Promise<void> => {
      longestMs = Math.max(longestMs, (await probe()) ?? 0);
    };
    await until(
      cluster,
      'a Ready NodePool',
      async () => {
        await look();
        return (await cluster.kube.list(NODE_POOL)).items.some((pool) => isTrue(pool, 'Ready'));
      },
      120_000,
    );
    const pending = await cluster.kube.create(POD, pod('pending'));
    const unschedulable = { type: 'PodScheduled', status: 'False', reason: 'Unschedulable' };
    await cluster.kube.patch(
      POD,
      pending.metadata,
      { status: { conditions: [unschedulable] } },
      { subresource: 'status' },
    );
    await until(
      cluster,
      'a claim with an instance',
      async () => {
        await look();
        return (await cluster.kube.list(NODE_CLAIM)).items.some(({ status }) => status?.providerID);
      },
      120_000,
    );

    const lists = (await cluster.audit()).filter(
      ({ verb, objectRef }) => verb === 'list' && objectRef?.resource === 'pods',
    );
    expect(lists).toHaveLength((NODES * PODS_A_NODE) / 500);
    for (const { requestURI } of lists) expect(requestURI).toContain('limit=500');
    expect((await cluster.kube.list(NODE_CLAIM)).items).toHaveLength(1);
    expect(longestMs).toBeLessThan(PROBE_LIMIT_CPU_MS);
    expect(await memory()).toBeLessThan(MOST_MEMORY_KB);
    process.stdout.write(
      `10 000 pods: ${Math.round((await memory()) / 1_024)} MiB at most, ${Math.round(longestMs)} ms of CPU in a probe at most\n`,
    );
  }, 300_000);
});
