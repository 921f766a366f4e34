/** A real control plane with two real kubelets, the image of the checkout on both, and the local AWS for pods. */
import { mkdir, readdir } from 'node:fs/promises';
import { join } from 'node:path';
import { type KubeObject, NODE } from '#api/objects';
import { kubeletProgram } from '../../cluster/harness/binaries.ts';
import { type Cluster, startCluster } from '../../cluster/harness/cluster.ts';
import { eventually, logTails } from '../../cluster/harness/processes.ts';
import { type Shell, startShell } from '../../cluster/harness/shell.ts';
import { type Gateway, startGateway } from './aws-gateway.ts';
import { ENV } from './folders.ts';
import { CONTROL_PLANE, createNetwork, namespaceOf } from './network.ts';
import { type RunningNode, startNode } from './node.ts';

const NODES = [1, 2];
const READY_LIMIT_MS = 120_000;

export interface DeployedCluster extends Cluster {
  readonly nodes: readonly RunningNode[];
  readonly gateway: Gateway;
  /** Runs commands of a reader with kubectl and helm in the PATH. */
  readonly shell: Shell;
  /** Returns the last log lines of kubelets and containerd. */
  nodeTails(): string;
}

export async function startDeployedCluster(clusterName: string): Promise<DeployedCluster> {
  const work = process.env[ENV.work];
  if (work === undefined) throw new Error('The kubelet suite runs in namespaces: start it with npm run test:kubelet');
  await createNetwork(NODES);
  const users = Object.fromEntries(NODES.map((number) => [`system:node:${namespaceOf(number)}`, 'system:nodes']));
  const cluster = await startCluster({
    // Names of nodes have no addresses.
    plane: { host: CONTROL_PLANE, users, apiServerFlags: ['--kubelet-preferred-address-types=InternalIP'] },
    values: null,
    world: { systemNodes: 0, clusterName },
  });
  const gateway = await startGateway(cluster.world.aws.url);
  const nodes: RunningNode[] = [];
  const stop = async (): Promise<void> => {
    // Pods end with the namespaces.
    for (const { processes } of nodes) for (const one of processes.toReversed()) await one.stop();
    await gateway.close();
    await cluster.stop();
  };
  try {
    nodes.push(...(await startNodes(cluster, work)));
    const shell = await startShell(work, cluster.plane.kubeconfig);
    return { ...cluster, nodes, gateway, shell, stop, nodeTails: () => tailsOf(nodes) };
  } catch (error) {
    await stop();
    throw error;
  }
}

const tailsOf = (nodes: readonly RunningNode[]): string => logTails(nodes.flatMap(({ processes }) => processes));

async function startNodes({ plane, kube }: Cluster, work: string): Promise<readonly RunningNode[]> {
  const folder = join(work, 'nodes');
  await mkdir(folder);
  const archives = await readdir(join(work, 'images'));
  const images = archives.map((name) => join(work, 'images', name));
  const kubelet = await kubeletProgram();
  const nodes = await Promise.all(
    NODES.map((number) => {
      const kubeconfig = plane.userKubeconfigs[`system:node:${namespaceOf(number)}`] ?? '';
      return startNode({ number, kubelet, kubeconfig, folder, images, cgroup: process.env[ENV.cgroup] ?? '' });
    }),
  );
  try {
    for (const { name } of nodes)
      await eventually(
        `node ${name} to be ready`,
        async () => isReady(await kube.find(NODE, { name })) || undefined,
        READY_LIMIT_MS,
      );
  } catch (error) {
    throw new Error(`${String(error)}\n${tailsOf(nodes)}`, { cause: error });
  }
  return nodes;
}

interface Conditioned {
  readonly status?: { readonly conditions?: readonly { readonly type: string; readonly status: string }[] };
}

export const isReady = (object: KubeObject | undefined): boolean =>
  ((object as Conditioned | undefined)?.status?.conditions ?? []).some(
    ({ type, status }) => type === 'Ready' && status === 'True',
  );
