/** A node: containerd and a real kubelet in a network namespace. */
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { eventually, type Process, requireRunning, startProcess } from '../../cluster/harness/processes.ts';
import { createCgroup } from './cgroups.ts';
import { run } from './commands.ts';
import { PAUSE_IMAGE } from './images.ts';
import { namespaceOf, nodeAddress, onNode, podNetwork } from './network.ts';

const START_LIMIT_MS = 120_000;
const REGION = 'us-west-2';

export interface NodeOptions {
  readonly number: number;
  /** Executable of the kubelet. */
  readonly kubelet: string;
  readonly kubeconfig: string;
  /** Folder of state and logs. */
  readonly folder: string;
  /** Cgroup of all pods. */
  readonly cgroup: string;
  /** Archives of images. */
  readonly images: readonly string[];
}

export interface RunningNode {
  readonly name: string;
  readonly processes: readonly Process[];
  /** Runs containerd's client. */
  ctr(...argv: readonly string[]): Promise<string>;
}

export async function startNode(options: NodeOptions): Promise<RunningNode> {
  const { number, images, cgroup } = options;
  const folder = join(options.folder, namespaceOf(number));
  const socket = join(folder, 'containerd.sock');
  await mkdir(join(folder, 'cni'), { recursive: true });
  await Promise.all([
    writeFile(join(folder, 'cni/10.conflist'), JSON.stringify(podNetworkConfig(folder, number))),
    writeFile(join(folder, 'containerd.toml'), containerdConfig(folder, socket)),
    writeFile(join(folder, 'resolv.conf'), ''),
    writeFile(join(folder, 'kubelet.json'), JSON.stringify(kubeletConfig(folder, socket, options))),
  ]);
  await createCgroup(`${cgroup}/${namespaceOf(number)}`);
  const start = (name: string, ...command: readonly string[]): Promise<Process> =>
    // Detached, so that Jest ends after a failed start. The processes end with the namespaces.
    startProcess({ name, path: 'nsenter', argv: [...onNode(number), ...command], folder, detached: true });

  const containerd = await start('containerd', 'containerd', '--config', join(folder, 'containerd.toml'));
  const ctr = (...argv: readonly string[]): Promise<string> =>
    run('ctr', ['--address', socket, '--namespace', 'k8s.io', ...argv]);
  await eventually(
    'containerd',
    () => {
      requireRunning(containerd);
      return ctr('version');
    },
    START_LIMIT_MS,
  );
  for (const image of images) await ctr('images', 'import', image);
  const kubelet = await start('kubelet', options.kubelet, ...kubeletFlags(folder, options));
  return { name: namespaceOf(number), processes: [containerd, kubelet], ctr };
}

const podNetworkConfig = (folder: string, number: number): object => ({
  cniVersion: '1.0.0',
  name: 'pods',
  plugins: [
    {
      type: 'bridge',
      bridge: 'cni0',
      isGateway: true,
      ipMasq: false,
      hairpinMode: true,
      ipam: {
        type: 'host-local',
        dataDir: join(folder, 'addresses'),
        ranges: [[{ subnet: podNetwork(number) }]],
        routes: [{ dst: '0.0.0.0/0' }],
      },
    },
  ],
});

const containerdConfig = (folder: string, socket: string): string => `
version = 2
root = "${folder}/containerd"
state = "${folder}/state"
[grpc]
  address = "${socket}"
[plugins."io.containerd.grpc.v1.cri"]
  sandbox_image = "${PAUSE_IMAGE}"
  disable_apparmor = true
  restrict_oom_score_adj = true
  [plugins."io.containerd.grpc.v1.cri".cni]
    bin_dir = "/usr/lib/cni"
    conf_dir = "${folder}/cni"
  [plugins."io.containerd.grpc.v1.cri".containerd]
    snapshotter = "overlayfs"
    default_runtime_name = "runc"
    [plugins."io.containerd.grpc.v1.cri".containerd.runtimes.runc]
      runtime_type = "io.containerd.runc.v2"
`;

const kubeletConfig = (folder: string, socket: string, { number, cgroup }: NodeOptions): object => ({
  apiVersion: 'kubelet.config.k8s.io/v1beta1',
  kind: 'KubeletConfiguration',
  address: nodeAddress(number),
  authentication: { anonymous: { enabled: true }, webhook: { enabled: false } },
  authorization: { mode: 'AlwaysAllow' },
  cgroupDriver: 'cgroupfs',
  cgroupRoot: `/${cgroup}/${namespaceOf(number)}`,
  failCgroupV1: false,
  failSwapOn: false,
  enforceNodeAllocatable: ['pods'],
  clusterDNS: ['172.20.0.10'],
  clusterDomain: 'cluster.local',
  containerRuntimeEndpoint: `unix://${socket}`,
  podLogsDir: join(folder, 'logs'),
  resolvConf: join(folder, 'resolv.conf'),
  volumePluginDir: join(folder, 'plugins'),
  serializeImagePulls: false,
  evictionHard: { 'memory.available': '100Mi' },
  imageGCHighThresholdPercent: 100,
  // Nodes for the operator, and not for the workload of tests.
  registerWithTaints: [{ key: 'CriticalAddonsOnly', value: 'true', effect: 'NoSchedule' }],
});

function kubeletFlags(folder: string, { number, kubeconfig }: NodeOptions): readonly string[] {
  const labels = {
    'topology.kubernetes.io/region': REGION,
    'topology.kubernetes.io/zone': `${REGION}${'abc'[number - 1]}`,
    'node.kubernetes.io/instance-type': 'm5.large',
  };
  return [
    `--config=${join(folder, 'kubelet.json')}`,
    `--kubeconfig=${kubeconfig}`,
    `--root-dir=${join(folder, 'kubelet')}`,
    `--cert-dir=${join(folder, 'certificates')}`,
    `--hostname-override=${namespaceOf(number)}`,
    `--node-ip=${nodeAddress(number)}`,
    `--node-labels=${Object.entries(labels)
      .map(([name, value]) => `${name}=${value}`)
      .join(',')}`,
  ];
}
