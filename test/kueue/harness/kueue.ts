/** Kueue's own controller as a process beside a real control plane, installed by Kueue's own chart. */
import { mkdir, writeFile } from 'node:fs/promises';
import { connect } from 'node:net';
import { join } from 'node:path';
import { parse, stringify } from 'yaml';
import { CONFIG_MAP, type KubeObject, SERVICE } from '#api/objects';
import { kueueFiles } from '../../cluster/harness/binaries.ts';
import type { Cluster } from '../../cluster/harness/cluster.ts';
import { writeKubeconfig } from '../../cluster/harness/kubeconfig.ts';
import { eventually, logTails, type Process, requireRunning, startProcess } from '../../cluster/harness/processes.ts';
import { newToken } from '../../cluster/harness/tokens.ts';
import { freePorts } from '../../support/free-port.ts';
import type { ServiceProxy } from './service-proxy.ts';

const NAMESPACE = 'kueue-system';
const LIMIT_MS = 120_000;

/**
 * Starts the controller with the configuration and ServiceAccount of the chart, and with the kinds of JobSet, LeaderWorkerSet
 * and RayCluster.
 * @param install installs the chart without pods
 */
export async function startKueue(
  cluster: Cluster,
  proxy: ServiceProxy,
  install: (chart: string) => Promise<unknown>,
): Promise<Process> {
  const { kube, plane, kubectl } = cluster;
  const { program, chart, kinds } = await kueueFiles();
  const folder = join(plane.folder, 'kueue');
  const certificates = join(folder, 'certificates');
  await mkdir(certificates, { recursive: true });
  await kubectl('apply', '--server-side', '-f', kinds);
  await install(chart);

  const [webhook = 0, health = 0] = await freePorts(2);
  const service = await kube.find(SERVICE, { name: 'kueue-webhook-service', namespace: NAMESPACE });
  proxy.serve(`${(service?.spec as { readonly clusterIP?: string } | undefined)?.clusterIP}:443`, webhook);
  for (const version of ['v1beta1', 'v1beta2'])
    await kube.raw('DELETE', `/apis/apiregistration.k8s.io/v1/apiservices/${version}.visibility.kueue.x-k8s.io`);
  const map = await kube.find(CONFIG_MAP, { name: 'kueue-manager-config', namespace: NAMESPACE });
  const config = join(folder, 'config.yaml');
  const settings = {
    ...(parse(map?.data?.['controller_manager_config.yaml'] ?? '') as object),
    namespace: NAMESPACE,
    health: { healthProbeBindAddress: `127.0.0.1:${health}` },
    metrics: { bindAddress: '0' },
    webhook: { host: '127.0.0.1', port: webhook, certDir: certificates },
    // it needs the files of a pod
    featureGates: { VisibilityOnDemand: false },
    leaderElection: { leaderElect: false },
  };
  await writeFile(config, stringify(settings));
  const kubeconfig = join(folder, 'kubeconfig');
  const token = await newToken(kube, 3_600, { namespace: NAMESPACE, name: 'kueue-controller-manager' });
  await writeKubeconfig(kubeconfig, { url: plane.url, certificateAuthority: plane.certificateAuthority, token });
  const kueue = await startProcess({
    name: 'kueue',
    path: program,
    argv: [`--config=${config}`, '--zap-log-level=2'],
    folder,
    env: { PATH: process.env.PATH, HOME: folder, KUBECONFIG: kubeconfig },
  });
  try {
    await mountCertificates(cluster, certificates, kueue);
    // its health endpoint reports success before the webhooks are served
    await eventually(
      'the webhooks of Kueue',
      () => {
        requireRunning(kueue);
        return isServed(webhook);
      },
      LIMIT_MS,
    );
    return kueue;
  } catch (error) {
    await kueue.stop();
    throw new Error(`${String(error)}\n${logTails([kueue], 30)}`, { cause: error });
  }
}

const isServed = (port: number): Promise<true | undefined> =>
  new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1', () => {
      socket.destroy();
      resolve(true);
    });
    socket.on('error', () => resolve(undefined));
  });

/** Writes the files of the Secret that Kueue creates for its webhooks, as a kubelet does. */
async function mountCertificates({ kube }: Cluster, folder: string, kueue: Process): Promise<void> {
  const path = `/api/v1/namespaces/${NAMESPACE}/secrets/kueue-webhook-server-cert`;
  const data = await eventually(
    "the certificate of Kueue's webhooks",
    async () => {
      requireRunning(kueue);
      const secret = (await kube.raw('GET', path)) as KubeObject & { readonly data?: Readonly<Record<string, string>> };
      return secret.data?.['tls.crt'] ? secret.data : undefined;
    },
    LIMIT_MS,
  );
  for (const [name, content] of Object.entries(data))
    await writeFile(join(folder, name), Buffer.from(content, 'base64'));
}
