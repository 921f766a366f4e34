/** Description of the EKS cluster, and its access entries. */
import type {
  AccessEntry,
  CreateAccessEntryRequest,
  CreateAccessEntryResponse,
  DeleteAccessEntryRequest,
  DescribeAccessEntryRequest,
  DescribeAccessEntryResponse,
  DescribeClusterRequest,
  DescribeClusterResponse,
  ListAccessEntriesRequest,
  ListAccessEntriesResponse,
  ListClustersResponse,
} from '@aws-sdk/client-eks';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

const missing = (text: string, clusterName: string): AwsError =>
  new AwsError('ResourceNotFoundException', text, 404, { clusterName });

/** The entries are recorded only: kubelets of the local world join without them. */
export function eksHandlers(account: Account): Handlers {
  const entries = new Map<string, AccessEntry>();
  const keyOf = (cluster: string, principal: string): string => `${cluster} ${principal}`;

  function clusterNamed(name: string) {
    const cluster = account.clusters.get(name);
    if (!cluster) throw missing(`No cluster found for name: ${name}.`, name);
    return cluster;
  }

  function entryOf({ clusterName = '', principalArn = '' }: DescribeAccessEntryRequest): AccessEntry {
    clusterNamed(clusterName);
    const entry = entries.get(keyOf(clusterName, principalArn));
    if (entry === undefined)
      throw missing(`The specified principalArn could not be found: ${principalArn}.`, clusterName);
    return entry;
  }

  return {
    CreateAccessEntry: (input: CreateAccessEntryRequest): CreateAccessEntryResponse => {
      const { clusterName = '', principalArn = '', type = 'STANDARD', kubernetesGroups = [], tags = {} } = input;
      clusterNamed(clusterName);
      const key = keyOf(clusterName, principalArn);
      if (entries.has(key)) {
        const text = 'The specified access entry resource is already in use on this cluster.';
        throw new AwsError('ResourceInUseException', text, 409, { clusterName });
      }
      const createdAt = new Date(account.clock.now());
      const username = input.username ?? 'system:node:{{EC2PrivateDNSName}}';
      const accessEntry = { clusterName, principalArn, type, kubernetesGroups, username, tags, createdAt };
      entries.set(key, accessEntry);
      return { accessEntry };
    },
    DescribeAccessEntry: (input: DescribeAccessEntryRequest): DescribeAccessEntryResponse => ({
      accessEntry: entryOf(input),
    }),
    DeleteAccessEntry: (input: DeleteAccessEntryRequest): object => {
      const { clusterName = '', principalArn = '' } = entryOf(input);
      entries.delete(keyOf(clusterName, principalArn));
      return {};
    },
    ListAccessEntries: ({ clusterName = '' }: ListAccessEntriesRequest): ListAccessEntriesResponse => {
      clusterNamed(clusterName);
      const own = [...entries.values()].filter((entry) => entry.clusterName === clusterName);
      return { accessEntries: own.map(({ principalArn = '' }) => principalArn) };
    },
    DescribeCluster: ({ name = '' }: DescribeClusterRequest): DescribeClusterResponse => ({
      cluster: clusterNamed(name),
    }),
    ListClusters: (): ListClustersResponse => ({ clusters: [...account.clusters.keys()] }),
  };
}
