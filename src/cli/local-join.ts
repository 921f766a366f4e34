/** Finds the cluster that `karpenter local --join` adds nodes to. */
import { BlockList, isIP } from 'node:net';
import { exportContext } from '#kube/connection';
import { connectRemotely, type RunningCluster } from '#local/world';

const LOCAL_NAMES = new Set(['localhost', 'kubernetes.docker.internal', 'host.docker.internal']);
const LOCAL_ADDRESSES = new BlockList();
for (const [address, prefix] of [
  ['0.0.0.0', 32],
  ['10.0.0.0', 8],
  ['127.0.0.0', 8],
  ['172.16.0.0', 12],
  ['192.168.0.0', 16],
] as const)
  LOCAL_ADDRESSES.addSubnet(address, prefix);
LOCAL_ADDRESSES.addAddress('::1', 'ipv6');
LOCAL_ADDRESSES.addSubnet('fc00::', 7, 'ipv6');

function isLocal(url: string): boolean {
  const host = new URL(url).hostname.replace(/^\[|\]$/g, '');
  const version = isIP(host);
  return version === 0 ? LOCAL_NAMES.has(host) : LOCAL_ADDRESSES.check(host, version === 6 ? 'ipv6' : 'ipv4');
}

/**
 * Returns the cluster of a context.
 * @throws Error if the context does not exist, or its API server is not on this machine or in a private network. Pods on
 * the added nodes have no containers, so the nodes must not join a cluster that serves users.
 */
export function clusterToJoin(context: string): RunningCluster {
  const options = { kubeconfig: process.env.KUBECONFIG, context };
  const client = connectRemotely(options);
  if (isLocal(client.url)) return { client, kubeconfig: exportContext(options) };
  client.close();
  throw new Error(
    `Cannot join ${client.url}, the cluster of context "${context}": it is not on this machine or in a private network; ` +
      'use a cluster for experiments, for example of kind',
  );
}
