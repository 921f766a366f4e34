/** Description of the EKS cluster. */
import type { DescribeClusterRequest, DescribeClusterResponse, ListClustersResponse } from '@aws-sdk/client-eks';
import type { Account } from '../state/account.ts';
import { AwsError } from '../wire/error.ts';
import type { Handlers } from '../wire/service.ts';

export function eksHandlers(account: Account): Handlers {
  return {
    DescribeCluster: ({ name = '' }: DescribeClusterRequest): DescribeClusterResponse => {
      const cluster = account.clusters.get(name);
      if (!cluster) {
        throw new AwsError('ResourceNotFoundException', `No cluster found for name: ${name}.`, 404, {
          clusterName: name,
        });
      }
      return { cluster };
    },
    ListClusters: (): ListClustersResponse => ({ clusters: [...account.clusters.keys()] }),
  };
}
