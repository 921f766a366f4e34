/** Creates the state of a new account from the options of `startAws`. */
import { callBook } from './calls.ts';
import { ruleBuiltCatalogue } from './catalogue/catalogue.ts';
import { eventBus } from './events.ts';
import { faultBook } from './faults.ts';
import type { LocalAwsOptions, Seed, Zone } from './options.ts';
import { randomStream } from './random.ts';
import { seedPublicImages } from './seed/images.ts';
import { publishPinned } from './seed/pinned-images.ts';
import { seeder } from './seed/seed.ts';
import type { Account } from './state/account.ts';
import { createMachines, type Machine } from './state/machines.ts';
import { createQueues } from './state/queues.ts';

const START_DELAY_MS = 8_000;
const STOP_DELAY_MS = 15_000;
const TERMINATED_VISIBLE_MS = 3_600_000;

export function openAccount(options: LocalAwsOptions): Account {
  const { clock, clusterName } = options;
  const queueName = options.queueName ?? clusterName;
  const region = options.region ?? 'us-west-2';
  const zones = options.zones ?? [...standardZones(region), ...(options.localZone ? [localZoneOf(region)] : [])];
  const seedNumber = options.randomSeed ?? 1;
  const random = randomStream(seedNumber);
  const accountId = options.accountId ?? '123456789012';
  const catalogue = options.catalogue ?? ruleBuiltCatalogue(zones, seedNumber);
  const queues = createQueues(clock, random);
  const events = eventBus({
    clock,
    random,
    region,
    accountId,
    stateChanges: options.stateChangeEvents ?? true,
    // like EventBridge, drops messages if the target does not accept them
    deliver: (body) => queues.get(queueName)?.send(body),
  });
  const account: Account = {
    id: accountId,
    region,
    zones,
    clock,
    options,
    random,
    catalogue,
    types: new Map(catalogue.types.map((info) => [info.InstanceType ?? '', info])),
    vpcs: new Map(),
    subnets: new Map(),
    securityGroups: new Map(),
    images: new Map(),
    parameters: new Map(),
    templates: new Map(),
    machines: createMachines({
      clock,
      ...delaysOf(options),
      onState: (machine) => {
        giveBack(account, machine);
        events.stateChange(machine.id, machine.state);
      },
    }),
    reservations: new Map(),
    placementGroups: new Map(),
    profiles: new Map(),
    roles: new Map(),
    clusters: new Map(),
    queues,
    events,
    faults: faultBook(random, {
      instanceTypes: () => catalogue.types.map(({ InstanceType = '' }) => InstanceType),
      zones: () => zones.map(({ name }) => name),
    }),
    calls: callBook(options.keptCalls),
    answers: new Map(),
    imageReleases: 0,
    publishRelease: (parameter) => publishPinned(account, parameter),
    launches: 0,
    preferred: [],
  };
  const seed = seeder(account);
  if (options.publicImages ?? true) seedPublicImages(seed, options.kubernetesVersion);
  if (options.account !== 'empty') seedEksAccount(seed, { clusterName, queueName, zones });
  return account;
}

const delaysOf = ({
  startDelayMs = START_DELAY_MS,
  stopDelayMs = STOP_DELAY_MS,
  terminatedVisibleMs = TERMINATED_VISIBLE_MS,
}: LocalAwsOptions) => ({ startDelayMs, stopDelayMs, terminatedVisibleMs });

/** Releases the resources of an instance: reserved capacity at shutdown, addresses at termination. */
function giveBack(account: Account, machine: Machine): void {
  if (machine.state === 'shutting-down' && machine.reservation) machine.reservation.available += 1;
  if (machine.state !== 'terminated') return;
  const subnet = account.subnets.get(machine.subnetId);
  for (const { privateIp } of machine.interfaces) if (privateIp) subnet?.addresses.release(privateIp);
}

const DIRECTIONS: Readonly<Record<string, string>> = {
  north: 'n',
  south: 's',
  east: 'e',
  west: 'w',
  central: 'c',
  northeast: 'ne',
  southeast: 'se',
  northwest: 'nw',
  southwest: 'sw',
};

/** Returns three zones. As in a real account, names and ids are not in the same order: `us-west-2a` is `usw2-az2`. */
export function standardZones(region: string): readonly Zone[] {
  const [country = '', direction = '', number = ''] = region.split('-');
  const prefix = `${country}${DIRECTIONS[direction] ?? direction}${number}`;
  return [
    { name: `${region}a`, id: `${prefix}-az2` },
    { name: `${region}b`, id: `${prefix}-az1` },
    { name: `${region}c`, id: `${prefix}-az3` },
  ];
}

/** Local zone of a region, as AWS names the one in Los Angeles. */
const localZoneOf = (region: string): Zone => {
  const [{ id: firstId = '', name: parent } = { name: `${region}a` }] = standardZones(region);
  return { name: `${region}-lax-1a`, id: `${firstId.split('-')[0]}-lax1-az1`, parent };
};

/** Account after `eksctl create cluster` and Karpenter's CloudFormation template. */
interface EksAccount {
  readonly clusterName: string;
  readonly queueName: string;
  readonly zones: readonly Zone[];
}

/**
 * Adds a VPC with a private and a public subnet in each zone, security groups, the cluster, the node and controller
 * roles, and the interruption queue. Private subnets and the two security groups of nodes have the discovery tag.
 */
function seedEksAccount(seed: Seed, { clusterName, queueName, zones }: EksAccount): void {
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
