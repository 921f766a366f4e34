/** Adds objects to the account, for `LocalAws.seed` and for the predefined accounts. */
import type { Cluster } from '@aws-sdk/client-eks';
import type { ClusterSeed, Seed } from '../options.ts';
import { addProfile, addRole } from '../services/iam.ts';
import { type Account, zoneId } from '../state/account.ts';
import { addImage, addPlacementGroup, addReservation } from '../state/additions.ts';
import { addressPool } from '../state/network.ts';
import { publishNewImages } from './images.ts';

/** Retention of the queue, as in Karpenter's template. Interruption messages are not useful after five minutes. */
const QUEUE_RETENTION_SECONDS = '300';

export function seeder(account: Account): Seed {
  const { random } = account;
  const firstVpc = (): string => {
    const [id] = account.vpcs.keys();
    return id ?? seed.vpc();
  };

  const seed: Seed = {
    vpc({ id = random.id('vpc'), cidr = '10.0.0.0/16', tags = {} } = {}) {
      account.vpcs.set(id, { id, cidr, tags });
      return id;
    },
    subnet({
      zone,
      cidr,
      id = random.id('subnet'),
      vpcId = firstVpc(),
      public: isPublic = false,
      tags = {},
      freeAddresses,
    }) {
      if (!zoneId(account, zone)) {
        const names = account.zones.map((each) => each.name).join(', ');
        throw new RangeError(`Cannot seed subnet ${id}: zone "${zone}" is not one of ${names}`);
      }
      const addresses = addressPool(id, cidr, freeAddresses);
      account.subnets.set(id, {
        id,
        zone,
        zoneId: zoneId(account, zone),
        cidr,
        vpcId,
        isPublic,
        addresses,
        tags,
        assignsIpv6: false,
        dns: { hostnameType: 'ip-name', hasResourceRecord: false, hasResourceIpv6Record: false, hasDns64: false },
      });
      return id;
    },
    securityGroup({ name, id = random.id('sg'), description = name, vpcId = firstVpc(), tags = {} }) {
      account.securityGroups.set(id, { id, name, description, vpcId, tags });
      return id;
    },
    image: (image) => addImage(account, image),
    parameter(name, value) {
      const version = (account.parameters.get(name)?.version ?? 0) + 1;
      account.parameters.set(name, { value, version, changedAt: account.clock.now() });
      return name;
    },
    role: (name, path) => addRole(account, name, path).name,
    instanceProfile({ name, role, path, tags }) {
      const profile = addProfile(account, name, path, tags);
      if (role !== undefined) {
        if (!account.roles.has(role)) addRole(account, role);
        profile.roles = [role];
      }
      return name;
    },
    cluster(cluster) {
      account.clusters.set(cluster.name, clusterFacts(account, cluster));
      return cluster.name;
    },
    queue: (name) => account.queues.create(name, { MessageRetentionPeriod: QUEUE_RETENTION_SECONDS }).name,
    capacityReservation: (reservation) => addReservation(account, reservation),
    placementGroup: (group) => addPlacementGroup(account, group),
    newImages: () =>
      publishNewImages(seed, account.clock.now(), account.imageReleases++, account.options.kubernetesVersion),
  };
  return seed;
}

function clusterFacts(account: Account, seed: ClusterSeed): Cluster {
  const { region, options } = account;
  const serviceIpv6Cidr = seed.serviceIpv6Cidr ?? options.serviceIpv6Cidr;
  const isIpv6 = serviceIpv6Cidr !== undefined && seed.serviceIpv4Cidr === undefined;
  return {
    name: seed.name,
    arn: `arn:aws:eks:${region}:${account.id}:cluster/${seed.name}`,
    createdAt: new Date(account.clock.now()),
    version: seed.version ?? options.kubernetesVersion ?? '1.34',
    platformVersion: 'eks.1',
    status: 'ACTIVE',
    endpoint: seed.endpoint ?? options.clusterEndpoint ?? `https://${seed.name}.gr7.${region}.eks.amazonaws.com`,
    certificateAuthority: { data: seed.caBase64 ?? options.clusterCaBase64 ?? PLACEHOLDER_CA },
    roleArn: `arn:aws:iam::${account.id}:role/${seed.name}-cluster`,
    kubernetesNetworkConfig: isIpv6
      ? { ipFamily: 'ipv6', serviceIpv6Cidr }
      : { ipFamily: 'ipv4', serviceIpv4Cidr: seed.serviceIpv4Cidr ?? options.serviceIpv4Cidr ?? '10.100.0.0/16' },
    resourcesVpcConfig: {
      vpcId: seed.vpcId ?? [...account.vpcs.keys()][0],
      subnetIds: [...(seed.subnetIds ?? account.subnets.keys())],
      securityGroupIds: [...(seed.securityGroupIds ?? [])],
      endpointPublicAccess: true,
      endpointPrivateAccess: true,
      publicAccessCidrs: ['0.0.0.0/0'],
    },
    identity: { oidc: { issuer: `https://oidc.eks.${region}.amazonaws.com/id/LOCAL` } },
    accessConfig: { authenticationMode: 'API_AND_CONFIG_MAP' },
    tags: { ...seed.tags },
  };
}

/** Base64 of a PEM frame without a certificate. A cluster with a plain HTTP address does not need one. */
const PLACEHOLDER_CA = Buffer.from('-----BEGIN CERTIFICATE-----\nLOCAL\n-----END CERTIFICATE-----\n').toString(
  'base64',
);
