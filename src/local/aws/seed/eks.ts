/** Account after `eksctl create cluster` and Karpenter's CloudFormation template. */
import type { Seed, Zone } from '../options.ts';

export interface EksAccount {
  readonly clusterName: string;
  readonly queueName: string;
  readonly zones: readonly Zone[];
}

/**
 * Adds a VPC with a private and a public subnet in each zone, security groups, the cluster, the node and controller
 * roles, and the interruption queue. Private subnets and the two security groups of nodes have the discovery tag.
 */
export function seedEksAccount(seed: Seed, { clusterName, queueName, zones }: EksAccount): void {
  const discovery = { 'karpenter.sh/discovery': clusterName };
  const shared = { [`kubernetes.io/cluster/${clusterName}`]: 'shared' };
  const owned = { [`kubernetes.io/cluster/${clusterName}`]: 'owned' };

  const vpcId = seed.vpc({ cidr: '10.0.0.0/16', tags: { Name: `${clusterName}-vpc`, ...shared } });
  // each zone has a block of 64 × 256 addresses: half of them private, and one 64th public
  const subnetIds = zones.slice(0, 4).flatMap((zone, index) => {
    const block = index * 64;
    return [
      seed.subnet({
        zone: zone.name,
        cidr: `10.0.${block}.0/19`,
        vpcId,
        tags: {
          Name: `eksctl-${clusterName}-cluster/SubnetPrivate${nameOf(zone)}`,
          'kubernetes.io/role/internal-elb': '1',
          ...shared,
          ...discovery,
        },
      }),
      seed.subnet({
        zone: zone.name,
        cidr: `10.0.${block + 32}.0/24`,
        vpcId,
        public: true,
        tags: {
          Name: `eksctl-${clusterName}-cluster/SubnetPublic${nameOf(zone)}`,
          'kubernetes.io/role/elb': '1',
          ...shared,
        },
      }),
    ];
  });

  seed.securityGroup({ name: 'default', description: 'default VPC security group', vpcId });
  const nodeGroup = seed.securityGroup({
    name: `eks-cluster-sg-${clusterName}`,
    description: 'EKS created security group applied to ENI that is attached to EKS Control Plane master nodes',
    vpcId,
    tags: { Name: `eks-cluster-sg-${clusterName}`, 'aws:eks:cluster-name': clusterName, ...owned, ...discovery },
  });

  const shareName = `eksctl-${clusterName}-cluster/ClusterSharedNodeSecurityGroup`;
  const nodesOnly = seed.securityGroup({
    name: shareName.replace('/', '-'),
    description: 'Communication between all nodes in the cluster',
    vpcId,
    tags: { Name: shareName, 'alpha.eksctl.io/cluster-name': clusterName, ...discovery },
  });

  seed.role(`KarpenterNodeRole-${clusterName}`);
  seed.role(`${clusterName}-karpenter`);
  seed.role('AWSServiceRoleForEC2Spot', '/aws-service-role/spot.amazonaws.com/');
  seed.queue(queueName);
  seed.cluster({ name: clusterName, vpcId, subnetIds, securityGroupIds: [nodeGroup, nodesOnly] });
}

/** Name of a zone in the logical IDs of eksctl's stacks, such as `USWEST2A`. */
const nameOf = ({ name }: Zone): string => name.replaceAll('-', '').toUpperCase();
