/** Facts about the cluster that nodes need to join it. */
import { DescribeClusterCommand, type EKSClient } from '@aws-sdk/client-eks';
import { type KubeObject, SERVICE } from '#api/objects';
import type { KubeReader } from '#kube/client';
import { messageOf } from '#lib';
import type { Logger } from '#observe/logger';

export interface ClusterFacts {
  readonly name: string;
  /** UID of this cluster, see `identity.ts`. Undefined if it cannot be read. */
  readonly uid?: string | undefined;
  readonly endpoint: string;
  /** Base64. Undefined if unknown. */
  readonly caBundle: string | undefined;
  /** Address of the cluster's DNS service. If it is undefined, this cluster counts as an IPv4 cluster. */
  readonly dnsIp: string | undefined;
}

export const isIpv6 = (address: string | undefined): boolean => address?.includes(':') === true;

interface FactsOptions {
  readonly eks: EKSClient;
  readonly client: KubeReader;
  readonly log: Logger;
  readonly clusterName: string;
  readonly clusterUid: string | undefined;
  /** If it is empty, EKS provides the endpoint. */
  readonly clusterEndpoint: string;
  readonly caBundle: string | undefined;
}

/** @throws Error if the endpoint cannot be discovered */
export async function discoverCluster(options: FactsOptions): Promise<ClusterFacts> {
  const endpoint = options.clusterEndpoint === '' ? await endpointFromEks(options) : options.clusterEndpoint;
  options.log.debug('discovered cluster endpoint', { 'cluster-endpoint': endpoint });
  return {
    name: options.clusterName,
    uid: options.clusterUid,
    endpoint,
    caBundle: options.caBundle === '' ? undefined : options.caBundle,
    dnsIp: await dnsAddress(options.client, options.log),
  };
}

async function endpointFromEks({ eks, clusterName }: FactsOptions): Promise<string> {
  try {
    const answer = await eks.send(new DescribeClusterCommand({ name: clusterName }));
    if (answer.cluster?.endpoint !== undefined) return answer.cluster.endpoint;
  } catch (error) {
    throw new Error(`failed to resolve cluster endpoint, ${messageOf(error)}`, { cause: error });
  }
  throw new Error(`failed to resolve cluster endpoint, EKS returned no endpoint for cluster "${clusterName}"`);
}

async function dnsAddress(client: KubeReader, log: Logger): Promise<string | undefined> {
  try {
    const service: KubeObject & { readonly spec?: { readonly clusterIP?: string } } = await client.get(SERVICE, {
      namespace: 'kube-system',
      name: 'kube-dns',
    });
    const address = service.spec?.clusterIP ?? '';
    if (!/^[0-9a-fA-F.:]+$/.test(address)) throw new Error(`"${address}" is not an IP address`);
    log.debug('discovered kube dns', { 'kube-dns-ip': address });
    return address;
  } catch (error) {
    log.debug('unable to detect the IP of the kube-dns service', { error });
    return undefined;
  }
}

/** @throws Error if EKS does not report the ARN */
export async function clusterArn(eks: EKSClient, clusterName: string): Promise<string> {
  const { cluster } = await eks.send(new DescribeClusterCommand({ name: clusterName }));
  if (cluster?.arn === undefined) throw new Error(`EKS returned no ARN for cluster "${clusterName}"`);
  return cluster.arn;
}

/** The service CIDR, which AL2023 nodes need. It is requested from EKS once, on first use. */
export class ClusterCidr {
  readonly #eks: EKSClient;
  readonly #clusterName: string;
  readonly #log: Logger;
  #cidr: string | undefined;

  constructor(eks: EKSClient, clusterName: string, log: Logger) {
    this.#eks = eks;
    this.#clusterName = clusterName;
    this.#log = log;
  }

  get known(): string | undefined {
    return this.#cidr;
  }

  async resolve(): Promise<string> {
    if (this.#cidr !== undefined) return this.#cidr;
    const answer = await this.#eks.send(new DescribeClusterCommand({ name: this.#clusterName }));
    const network = answer.cluster?.kubernetesNetworkConfig;
    const cidr = network?.serviceIpv4Cidr ?? network?.serviceIpv6Cidr;
    if (cidr === undefined) throw new Error('no CIDR found in DescribeCluster response');
    this.#cidr = cidr;
    this.#log.debug('discovered cluster CIDR', { 'cluster-cidr': cidr });
    return cidr;
  }
}
