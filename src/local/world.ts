/** A local cluster: a Kubernetes API server with its controllers, AWS endpoints, and kubelets for the instances. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { customResourceDefinitions } from '#api/schema';
import { type Clock, steadyClock } from '#lib/clock';
import { standardZones } from './aws/open-account.ts';
import type { LocalAwsOptions } from './aws/options.ts';
import { type LocalAws, startAws } from './aws/server.ts';
import type { LocalInstance, LocalInstances } from './aws/types.ts';
import type { ObjectClient } from './client.ts';
import { createClusterObjects } from './cluster-objects.ts';
import { cachesInProcess, connectInProcess } from './in-process.ts';
import { type IpFamily, SERVICE_CIDR, SERVICE_IPV6_CIDR } from './kubernetes/apiserver/admission/services.ts';
import { SERVER_VERSION } from './kubernetes/apiserver/http/routes.ts';
import { type LocalApiServer, startApiServer } from './kubernetes/apiserver/server.ts';
import { startWorkloads } from './kubernetes/controllers/index.ts';
import { type Kubelets, startKubelets } from './kubernetes/kubelets/index.ts';
import type { KubeletOptions } from './kubernetes/kubelets/options.ts';
import { startScheduler } from './kubernetes/scheduler/index.ts';
import type { Parts } from './parts.ts';

export interface WorldOptions {
  /** Seconds of the world per real second. Default 1. */
  readonly timeScale?: number;
  /** Replaces the scaled real clock. */
  readonly clock?: Clock;
  readonly kubePort?: number;
  readonly awsPort?: number;
  readonly region?: string;
  /** Default `local`. */
  readonly clusterName?: string;
  /** Number of initial nodes that no autoscaler manages, for the operator's pods. Default 0. */
  readonly systemNodes?: number;
  /** Delays of EC2 instances, in this world's time. */
  readonly instances?: Pick<LocalAwsOptions, 'startDelayMs' | 'stopDelayMs' | 'terminatedVisibleMs'>;
  /** Family of the addresses of services, pods and nodes. Default: IPv4. */
  readonly ipFamily?: IpFamily | undefined;
  /** Further options of the AWS account. */
  readonly aws?: Partial<Omit<LocalAwsOptions, 'clock' | 'clusterName' | 'clusterEndpoint' | 'port'>>;
  /** Delays of the kubelets, in this world's time. */
  readonly kubelets?: Partial<KubeletOptions>;
  /** Receives errors of the parts. Default: no output. */
  readonly log?: (message: string) => void;
}

/** A running cluster with an API server, a scheduler and controllers. */
export interface ExistingCluster {
  /** URL of the API server. */
  readonly url: string;
  /** Client of the kubelets. It needs all permissions. */
  readonly client: ObjectClient;
  /** PEM in base64. */
  readonly certificateAuthority?: string | undefined;
  readonly version: ServerVersion;
  /** Kubeconfig of the operator. */
  readonly kubeconfig: string;
}

/** AWS and kubelets for a cluster. */
export interface Surroundings {
  readonly clock: Clock;
  readonly clusterName: string;
  readonly kube: {
    readonly url: string;
    /** Returns the text of a kubeconfig for this cluster. */
    kubeconfig(): string;
    readonly client: ObjectClient;
  };
  readonly aws: LocalAws;
  /** Controls faults of single kubelets. */
  readonly kubelets: Kubelets;
  /**
   * Returns the environment of an operator for this world: KUBECONFIG (a file that `stop` removes), AWS_*,
   * CLUSTER_NAME, CLUSTER_ENDPOINT, INTERRUPTION_QUEUE, SYSTEM_NAMESPACE.
   */
  env(): Record<string, string>;
  /** Stops all parts, and resolves when the ports are free. */
  stop(): Promise<void>;
}

export interface World extends Surroundings {
  readonly kube: Surroundings['kube'] & { readonly server: LocalApiServer };
}

/**
 * Duration of a request of the world's own parts in real milliseconds, which equals that of a request over HTTP.
 * Without it, each evicted pod would be created and bound before the next eviction arrives.
 */
const REQUEST_MS = 4;

/** Starts a world on loopback addresses. @throws Error if a port is in use */
export async function startWorld(options: WorldOptions = {}): Promise<World> {
  const clock = options.clock ?? steadyClock(options.timeScale);
  const { ipFamily } = options;
  const server = await startApiServer({ clock, host: '127.0.0.1', ipFamily, ...portOf(options.kubePort) });
  const client = connectInProcess(server, REQUEST_MS);
  const cluster = { url: server.url, client, kubeconfig: server.kubeconfig(), version: SERVER_VERSION };
  const surroundings = await surround(
    cluster,
    { ...options, clock },
    {
      connect: async (life) => {
        const parts: Parts = { ...life, client, caches: cachesInProcess(server) };
        for (const crd of customResourceDefinitions()) server.install(adoptable(crd));
        await createClusterObjects(client);
        await startWorkloads(parts);
        await startScheduler(parts);
        return parts;
      },
      network: ipFamily === 'ipv6' ? { serviceIpv6Cidr: SERVICE_IPV6_CIDR } : { serviceIpv4Cidr: SERVICE_CIDR },
      stopped: () => server.close(),
    },
  );
  return { ...surroundings, kube: { ...surroundings.kube, server } };
}

/** Adds Helm's ownership metadata of the chart karpenter-crd, so that helm can install it over the existing CRDs. */
const adoptable = (crd: ReturnType<typeof customResourceDefinitions>[number]): unknown => ({
  ...crd,
  metadata: {
    ...crd.metadata,
    labels: { 'app.kubernetes.io/managed-by': 'Helm' },
    annotations: {
      'meta.helm.sh/release-name': 'karpenter-crd',
      'meta.helm.sh/release-namespace': 'kube-system',
    },
  },
});

export interface ServerVersion {
  readonly major?: string;
  readonly minor?: string;
  readonly gitVersion?: string;
}

/** Returns a version such as `1.36` in the format of EKS, which itself reports a minor version of `36+`. */
const minorOf = ({ major = '1', minor = '34' }: ServerVersion): string => `${major}.${Number.parseInt(minor, 10)}`;

/** The differences between the API server of the world and an existing cluster. */
export interface Inside {
  /** Network configuration in the response of DescribeCluster, if it is known. */
  readonly network?: Pick<LocalAwsOptions, 'serviceIpv4Cidr' | 'serviceIpv6Cidr'>;
  /** Connects the parts of this world, and starts parts that the cluster does not provide. */
  connect(life: Omit<Parts, 'client' | 'caches'>): Promise<Parts>;
  /** Called after all parts around the cluster have stopped. */
  stopped(): Promise<void>;
}

/** Starts AWS and kubelets for a cluster. */
export async function surround(
  cluster: ExistingCluster,
  options: WorldOptions & { readonly clock: Clock },
  inside: Inside,
): Promise<Surroundings> {
  const { clock, clusterName = 'local', systemNodes = 0, log = () => {} } = options;
  const life = new AbortController();
  const { signal } = life;
  const cleanups: (() => Promise<unknown>)[] = [() => inside.stopped()];
  const stop = async (): Promise<void> => {
    life.abort();
    for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
  };

  try {
    const folder = await mkdtemp(join(tmpdir(), 'karpenter-local-'));
    cleanups.push(() => rm(folder, { recursive: true, force: true }));
    const { client, version } = cluster;
    const eks = { kubernetesVersion: minorOf(version), ...inside.network };
    const aws = await startAws({ clock, clusterName, ...eks, ...awsOptionsOf(options, cluster) });
    cleanups.push(() => aws.close());
    const parts = await inside.connect({ clock, signal, log });
    const resident = systemInstances(systemNodes, aws, cluster.url, clock.now());
    const kubelets = await startKubelets({
      parts,
      instances: withResidents(aws.instances, resident),
      region: aws.region,
      clusterName,
      endpoint: cluster.url,
      kubeletVersion: version.gitVersion ?? 'v1.34.0',
      options: options.kubelets,
    });

    const kubeconfigFile = join(folder, 'kubeconfig');
    await writeFile(kubeconfigFile, cluster.kubeconfig, { mode: 0o600 });
    const env = (): Record<string, string> => ({
      ...aws.env(),
      KUBECONFIG: kubeconfigFile,
      CLUSTER_NAME: clusterName,
      CLUSTER_ENDPOINT: cluster.url,
      INTERRUPTION_QUEUE: aws.queue.name,
      SYSTEM_NAMESPACE: 'kube-system',
    });
    const kube = { url: cluster.url, kubeconfig: () => cluster.kubeconfig, client };
    return { clock, clusterName, kube, aws, kubelets, env, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

const awsOptionsOf = (options: WorldOptions, cluster: ExistingCluster) => ({
  clusterEndpoint: cluster.url,
  ...caOf(cluster),
  ...options.aws,
  ...options.instances,
  ...portOf(options.awsPort),
  ...(options.region === undefined ? {} : { region: options.region }),
});

const withResidents = (instances: LocalInstances, residents: readonly LocalInstance[]): LocalInstances => ({
  list: () => [...residents, ...instances.list()],
  get: (id) => instances.get(id),
  subscribe: (listener) => instances.subscribe(listener),
});

/** Returns the certificate of the API server for the response of DescribeCluster. */
const caOf = ({ certificateAuthority }: ExistingCluster): { readonly clusterCaBase64?: string } =>
  certificateAuthority === undefined ? {} : { clusterCaBase64: certificateAuthority };

const portOf = (port: number | undefined): { readonly port?: number } => (port === undefined ? {} : { port });

const TYPE = 'm5.large';

/** Returns instances that EC2 does not list. Their kubelets join immediately. */
function systemInstances(count: number, aws: LocalAws, endpoint: string, launchedAt: number): readonly LocalInstance[] {
  const hardware = aws.catalogue.types.find(({ InstanceType }) => InstanceType === TYPE);
  if (!hardware) throw new RangeError(`Cannot create system nodes: the catalogue has no ${TYPE}`);
  const zones = aws.catalogue.zonesOf(TYPE);
  const zoneIds = new Map(standardZones(aws.region).map(({ name, id }) => [name, id]));
  const userData = userDataFor(aws.clusterName, endpoint);
  return Array.from({ length: count }, (_, index): LocalInstance => {
    const zone = zones[index % zones.length] ?? `${aws.region}a`;
    const privateIp = `10.255.0.${index + 10}`;
    return {
      id: `i-5ec5${index.toString(16).padStart(13, '0')}`,
      type: TYPE,
      hardware,
      zone,
      zoneId: zoneIds.get(zone) ?? '',
      capacityType: 'on-demand',
      state: 'running',
      boots: 0,
      launchedAt,
      imageId: '',
      imageName: 'amazon-eks-node-al2023',
      architecture: 'x86_64',
      platform: 'linux',
      userData,
      subnetId: '',
      vpcId: '',
      privateIp,
      privateDnsName: `ip-${privateIp.replaceAll('.', '-')}.${aws.region}.compute.internal`,
      securityGroupIds: [],
      instanceProfile: '',
      interfaces: [{ type: 'interface' }],
      volumes: [{ id: `vol-5ec5${index}`, deviceName: '/dev/xvda', sizeGiB: 20, volumeType: 'gp3' }],
      tags: {},
      usdPerHour: 0,
      joins: true,
      // The instances ran before the world started.
      bootDelayMs: Number.NEGATIVE_INFINITY,
    };
  });
}

function userDataFor(clusterName: string, endpoint: string): string {
  const nodeConfig = {
    apiVersion: 'node.eks.aws/v1alpha1',
    kind: 'NodeConfig',
    spec: {
      cluster: { name: clusterName, apiServerEndpoint: endpoint },
      kubelet: { flags: ['--node-labels=eks.amazonaws.com/nodegroup=system'] },
    },
  };
  return [
    'MIME-Version: 1.0',
    'Content-Type: multipart/mixed; boundary="//"',
    '',
    '--//',
    'Content-Type: application/node.eks.aws',
    '',
    JSON.stringify(nodeConfig),
    '--//--',
    '',
  ].join('\n');
}
