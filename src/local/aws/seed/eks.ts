/** Account after `eksctl create cluster` and Karpenter's CloudFormation template. */
import type { Seed, Zone } from '../options.ts';

export interface EksAccount {
  readonly clusterName: string;
  readonly queueName: string;
  readonly zones: readonly Zone[];
}

/**
 * Adds a VPC with a private and a public subnet in each zone, security groups, the cluster, the node and controller
 * roles, and the interruption queue. Private subnets and the node security group have the discovery tag.
 */
export function seedEksAccount(seed: Seed, { clusterName, queueName, zones }: EksAccount): void {
  const discovery = { 'karpenter.sh/discovery': clusterName };
  const shared = { [`kubernetes.io/cluster/${clusterName}`]: 'shared' };
  const owned = { [`kubernetes.io/cluster/${clusterName}`]: 'owned' };

  const vpcId = seed.vpc({ cidr: '10.0.0.0/16', tags: { Name: `${clusterName}-vpc`, ...shared } });
  // each zone has a block of 64 × 256 addresses: half of them private, and one 64th public
  const subnetIds = zones.slice(0, 4).flatMap((zone, index) => {
    const letter = zone.name.slice(-1);
    const block = index * 64;
    return [
      seed.subnet({
        zone: zone.name,
        cidr: `10.0.${block}.0/19`,
        vpcId,
        tags: {
          Name: `${clusterName}-private-${letter}`,
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
        tags: { Name: `${clusterName}-public-${letter}`, 'kubernetes.io/role/elb': '1', ...shared },
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

  seed.role(`KarpenterNodeRole-${clusterName}`);
  seed.role(`${clusterName}-karpenter`);
  seed.role('AWSServiceRoleForEC2Spot', '/aws-service-role/spot.amazonaws.com/');
  seed.queue(queueName);
  seed.cluster({ name: clusterName, vpcId, subnetIds, securityGroupIds: [nodeGroup] });
}
