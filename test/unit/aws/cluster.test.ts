/** Discovery of the cluster: endpoint, CA, DNS, service CIDR and version. */
import { EKSClient } from '@aws-sdk/client-eks';
import { describe, expect, it } from '@jest/globals';
import { SERVICE } from '#api/objects';
import { after } from '#kube/reconcilers';
import { realClock } from '#lib/clock';
import { type Logger, silent } from '#observe/logger';
import { ClusterCidr, clusterArn, discoverCluster, isIpv6 } from '../../../src/aws/cluster.ts';
import { ClusterVersion, versionController } from '../../../src/aws/version.ts';
import { MemoryKube } from '../../support/memory-kube.ts';

/** An EKS client that returns one cluster or fails, and counts the calls. */
function eksWith(answer: () => object) {
  const asked: string[] = [];
  const eks: EKSClient = Object.assign(Object.create(EKSClient.prototype) as EKSClient, {
    send: async ({ input }: { input: { name: string } }) => {
      asked.push(input.name);
      return { cluster: answer() };
    },
  });
  return { eks, asked };
}

function kubeWithDns(clusterIP?: string): MemoryKube {
  const kube = new MemoryKube(realClock(), 0);
  const metadata = { namespace: 'kube-system', name: 'kube-dns' };
  if (clusterIP !== undefined) kube.put(SERVICE, { apiVersion: 'v1', kind: 'Service', metadata, spec: { clusterIP } });
  return kube;
}

const refuse = (): never => {
  throw new Error('AccessDeniedException: no');
};

describe('the endpoint', () => {
  const discover = (eks: EKSClient, clusterEndpoint = '', caBundle?: string, dns?: string) =>
    discoverCluster({
      eks,
      client: kubeWithDns(dns).client(),
      log: silent,
      clusterUid: undefined,
      clusterName: 'demo',
      clusterEndpoint,
      caBundle,
    });

  it('is not requested if it is configured', async () => {
    const { eks, asked } = eksWith(refuse);
    expect(await discover(eks, 'https://given.example', 'Y2E=')).toMatchObject({
      name: 'demo',
      endpoint: 'https://given.example',
      caBundle: 'Y2E=',
    });
    expect(asked).toEqual([]);
  });

  it('is the endpoint that EKS returns', async () => {
    const { eks, asked } = eksWith(() => ({ endpoint: 'https://eks.example' }));
    expect(await discover(eks)).toMatchObject({ endpoint: 'https://eks.example', caBundle: undefined });
    expect(asked).toEqual(['demo']);
  });

  it('is required', async () => {
    await expect(discover(eksWith(refuse).eks)).rejects.toThrow(
      'failed to resolve cluster endpoint, AccessDeniedException: no',
    );
    await expect(discover(eksWith(() => ({})).eks)).rejects.toThrow(
      'failed to resolve cluster endpoint, EKS returned no endpoint for cluster "demo"',
    );
  });

  it.each([
    ['10.100.0.10', '10.100.0.10'],
    ['fd00::a', 'fd00::a'],
    ['None', undefined],
    [undefined, undefined],
  ])('is combined with the DNS service at %s, as %s', async (clusterIP, dnsIp) => {
    const facts = await discover(eksWith(refuse).eks, 'https://given.example', '', clusterIP);
    expect(facts).toMatchObject({ dnsIp, caBundle: undefined });
  });
});

describe('isIpv6', () => {
  it.each([
    ['fd00::a', true],
    ['10.0.0.10', false],
    [undefined, false],
  ])('returns for %s: %s', (address, is) => expect(isIpv6(address)).toBe(is));
});

describe('the service CIDR', () => {
  it.each([
    [{ serviceIpv4Cidr: '10.100.0.0/16', serviceIpv6Cidr: 'fd00::/108' }, '10.100.0.0/16'],
    [{ serviceIpv6Cidr: 'fd00::/108' }, 'fd00::/108'],
  ])('is requested once for %j', async (kubernetesNetworkConfig, cidr) => {
    const { eks, asked } = eksWith(() => ({ kubernetesNetworkConfig }));
    const known = new ClusterCidr(eks, 'demo', silent);
    expect(known.known).toBeUndefined();
    expect(await known.resolve()).toBe(cidr);
    expect(await known.resolve()).toBe(cidr);
    expect(known.known).toBe(cidr);
    expect(asked).toHaveLength(1);
  });

  it('is requested again until EKS returns it', async () => {
    let network: object | undefined;
    const { eks } = eksWith(() => ({ kubernetesNetworkConfig: network }));
    const cidr = new ClusterCidr(eks, 'demo', silent);
    await expect(cidr.resolve()).rejects.toThrow('no CIDR found in DescribeCluster response');
    network = { serviceIpv4Cidr: '10.0.0.0/16' };
    expect(await cidr.resolve()).toBe('10.0.0.0/16');
  });
});

describe('the ARN', () => {
  it('is the ARN that EKS returns', async () => {
    expect(await clusterArn(eksWith(() => ({ arn: 'arn:1' })).eks, 'demo')).toBe('arn:1');
    await expect(clusterArn(eksWith(() => ({})).eks, 'demo')).rejects.toThrow('EKS returned no ARN for cluster "demo"');
  });
});

describe('the version', () => {
  function versions({ eksControlPlane = false, eks = eksWith(refuse).eks, api = async () => '1.34' } = {}) {
    const errors: string[] = [];
    const log: Logger = { ...silent, error: (message) => void errors.push(message) };
    const version = new ClusterVersion({ eks, clusterName: 'demo', eksControlPlane, apiServerVersion: api, log });
    return { version, errors };
  }

  it('is the version of the API server, or of EKS if EKS runs the control plane', async () => {
    const ofApi = versions({ api: async () => '1.34+' });
    await ofApi.version.refresh();
    expect(ofApi.version.current).toBe('1.34');
    const ofEks = versions({ eksControlPlane: true, eks: eksWith(() => ({ version: '1.33' })).eks });
    await ofEks.version.refresh();
    expect(ofEks.version.current).toBe('1.33');
  });

  it('keeps its value if a request fails', async () => {
    let answer = async (): Promise<string> => '1.34';
    const { version } = versions({ api: () => answer() });
    await version.refresh();
    answer = async () => refuse();
    await expect(version.refresh()).rejects.toThrow(
      'getting kubernetes version from the kubernetes API, AccessDeniedException: no',
    );
    expect(version.current).toBe('1.34');
    answer = async () => '.';
    await expect(version.refresh()).rejects.toThrow('reading the version of the cluster: "." is not a version');
    expect(version.current).toBe('1.34');
  });

  it.each([
    ['1.26', 0],
    ['1.36', 0],
    ['1.25', 1],
    ['1.37', 1],
    ['2.0', 1],
  ])('reports %s %i times, once per change', async (text, times) => {
    const { version, errors } = versions({ api: async () => text });
    await version.refresh();
    await version.refresh();
    expect(errors).toEqual(Array(times).fill(`karpenter is not compatible with kubernetes version (version=${text})`));
    expect(version.current).toBe(text);
  });

  it('is requested every five minutes', async () => {
    const { version } = versions();
    const context = { signal: new AbortController().signal, log: silent };
    expect(await versionController(version).reconcile(context)).toEqual(after(5 * 60_000));
  });
});
