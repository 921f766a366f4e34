/** Converts node groups of eksctl files. */
import type { Field } from '#lib';
import type { Path, TakeNote } from '../notes.ts';
import { applyDistribution, needsRole } from './auto-scaling-groups.ts';
import {
  addLabels,
  addTags,
  addTaint,
  addTaints,
  addVolume,
  CLUSTER_PLACEHOLDER,
  dataDevice,
  type GivenTaint,
  setCapacity,
  setInstanceTypes,
  setSize,
  useClusterSecurityGroup,
} from './common.ts';
import type { DocumentPart } from './document-part.ts';
import { eksctlImage, eksctlKubelet } from './eksctl-images.ts';
import { looseTextOf, mapOf, nameOfArn, textOf, textsOf } from './fields.ts';
import { applyInstanceSelector } from './instance-requirements.ts';
import { NodeGroup, REQUIREMENTS } from './node-group.ts';

type Apply = (group: NodeGroup, field: Field, path: Path) => void;

const nothing: Apply = () => undefined;
const lost =
  (text: string): Apply =>
  (group, _, path) =>
    group.onClass('lost', path, text);

const NO_SSH = 'nodes get no SSH key; use Session Manager of AWS Systems Manager, or a key in userData';
const REGISTERED = 'nodes are not registered with load balancers; use the AWS Load Balancer Controller';

const FIELDS: Readonly<Record<string, Apply>> = {
  instanceType: (group, field) => {
    if (textOf(field) !== 'mixed') setInstanceTypes(group, [textOf(field) ?? '']);
  },
  instanceTypes: (group, field) => setInstanceTypes(group, textsOf(field)),
  instanceSelector: applyInstanceSelector,
  spot: (group, field) => {
    if (field.given?.flag()) setCapacity(group, ['spot']);
  },
  instancesDistribution: distribution,
  labels: (group, field, path) => addLabels(group, mapOf(field), path),
  taints,
  tags: (group, field, path) => addTags(group, mapOf(field), path),
  availabilityZones: (group, field) => {
    group.zones = textsOf(field);
  },
  localZones: (group, field) => {
    group.zones = textsOf(field);
  },
  iam,
  securityGroups: (group, field, path) => {
    const own = textsOf(field.at('attachIDs')).map((id) => ({ id }));
    const isShared = field.at('withShared').given?.flag() ?? true;
    group.nodeClass.securityGroupSelectorTerms = [
      ...(isShared ? (group.nodeClass.securityGroupSelectorTerms ?? []) : []),
      ...own,
    ];
    if (field.at('withLocal').given?.flag())
      group.onClass(
        'lost',
        [...path, 'withLocal'],
        'the security group that eksctl created for this group is deleted with it',
        ['spec', 'securityGroupSelectorTerms'],
      );
  },
  kubeletExtraConfig: eksctlKubelet,
  clusterDNS: (group, field) => group.kubelet({ clusterDNS: [textOf(field) ?? ''] }),
  maxPodsPerNode: (group, field) => group.kubelet({ maxPods: field.given?.count() }),
  disablePodIMDS: (group, field) => {
    if (field.given?.flag()) group.nodeClass.metadataOptions = { httpPutResponseHopLimit: 1 };
  },
  disableIMDSv1: nothing,
  preBootstrapCommands,
  overrideBootstrapCommand: lost('Karpenter writes the command that starts the kubelet'),
  placement: (group, field) => {
    const name = textOf(field.at('groupName'));
    if (name) group.nodeClass.placementGroupSelector = { name };
  },
  enableDetailedMonitoring: (group, field) => {
    if (field.given?.flag()) group.nodeClass.detailedMonitoring = true;
  },
  efaEnabled: lost('EFA interfaces are added for pods that request vpc.amazonaws.com/efa'),
  capacityReservation: (group, field) => {
    const id = textOf(field.at('capacityReservationTarget').at('capacityReservationID'));
    if (id === undefined) return;
    group.nodeClass.capacityReservationSelectorTerms = [{ id }];
    setCapacity(group, ['reserved', 'on-demand']);
  },
  updateConfig: (group, field) => {
    const [count, share] = [
      field.at('maxUnavailable').given?.count(),
      field.at('maxUnavailablePercentage').given?.count(),
    ];
    const nodes = count === undefined ? (share === undefined ? undefined : `${share}%`) : String(count);
    if (nodes !== undefined) group.disruption.budgets = [{ nodes }];
  },
  nodeRepairConfig: (group, _, path) =>
    group.onPool('lost', path, 'settings.featureGates.nodeRepair of the chart replaces unhealthy nodes'),
  maxInstanceLifetime: (group, field) => {
    group.expireAfter = `${Math.max(1, Math.round((field.given?.count() ?? 0) / 3600))}h`;
  },
  ssh: lost(NO_SSH),
  launchTemplate: lost(
    'convert the group from AWS with `karpenter convert managed-node-groups`, which reads its launch template',
  ),
  cpuCredits: lost('burstable types use the credit option of the account'),
  asgSuspendProcesses: nothing,
  asgMetricsCollection: nothing,
  targetGroupARNs: lost(REGISTERED),
  classicLoadBalancerNames: lost(REGISTERED),
  outpostARN: lost('Outposts are not supported'),
};

/** Converts commands of families that run shell scripts. */
function preBootstrapCommands(group: NodeGroup, field: Field, path: Path): void {
  const family = group.nodeClass.amiFamily ?? group.nodeClass.amiSelectorTerms?.[0]?.alias ?? '';
  if (!/^al/i.test(family)) {
    group.onClass('lost', path, 'nodes of this family run no shell script before they register', ['spec', 'userData']);
    return;
  }
  group.nodeClass.userData = ['#!/bin/bash', 'set -o errexit', ...textsOf(field), ''].join('\n');
  group.onClass('changed', path, 'commands that run before the node registers', ['spec', 'userData']);
}

/** Fields that other functions read, or that have no meaning for nodes that are launched one by one. */
const ELSEWHERE = new Set(
  (
    'name minSize maxSize desiredCapacity volumeSize volumeType volumeName volumeIOPS volumeThroughput volumeEncrypted ' +
    'volumeKmsKeyID additionalVolumes additionalEncryptedVolume snapshotID ami amiFamily subnets privateNetworking ' +
    'instancePrefix instanceName ebsOptimized propagateASGTags disableASGTagPropagation containerRuntime releaseVersion ' +
    'bottlerocket enableIPv6'
  ).split(' '),
);

/** Converts all groups of a ClusterConfig. */
export function eksctlGroups({ field, where }: DocumentPart): readonly NodeGroup[] {
  return ['managedNodeGroups', 'nodeGroups'].flatMap((list) =>
    field
      .at(list)
      .items()
      .map((item, index) => groupOf(item, { cluster: field, where, path: [list, index] })),
  );
}

/** Adds notes about fields of the cluster that are not groups. */
export function noteCluster({ field }: DocumentPart, note: TakeNote): void {
  if (!field.at('karpenter').isMissing)
    note(
      'changed',
      ['karpenter'],
      'eksctl would install Karpenter; remove this field, and install the chart of this operator',
    );
  if (field.at('fargateProfiles').items().length > 0)
    note('changed', ['fargateProfiles'], 'pods of Fargate profiles stay on Fargate; the operator can also run there');
}

interface Context {
  readonly cluster: Field;
  readonly where: string;
  readonly path: Path;
}

function groupOf(field: Field, { cluster, where, path }: Context): NodeGroup {
  const group = new NodeGroup(looseTextOf(field.at('name').required()) ?? '', where, path);
  const clusterName = looseTextOf(cluster.at('metadata').at('name'));
  group.nodeClass.metadataOptions = { httpPutResponseHopLimit: 2 };
  eksctlImage(group, field);
  setCapacity(group, ['on-demand']);
  useClusterSecurityGroup(group, clusterName, []);
  network(group, field, cluster);
  volumes(group, field);
  setSize(
    group,
    {
      min: field.at('minSize').given?.count(),
      max: field.at('maxSize').given?.count() ?? field.at('desiredCapacity').given?.count(),
    },
    ['minSize'],
  );
  for (const key of field.keys()) {
    const apply = Object.hasOwn(FIELDS, key) ? FIELDS[key] : undefined;
    if (apply) apply(group, field.at(key), [key]);
    else if (!ELSEWHERE.has(key)) group.onPool('lost', [key], `${key} has no counterpart`);
  }
  defaults(group, field);
  return group;
}

function defaults(group: NodeGroup, field: Field): void {
  const selectors = ['instanceType', 'instanceTypes', 'instanceSelector', 'instancesDistribution'];
  if (selectors.every((key) => field.at(key).isMissing)) {
    setInstanceTypes(group, ['m5.large']);
    group.onPool('assumed', [], 'm5.large, the default of eksctl', REQUIREMENTS);
  }
  if (group.nodeClass.role === undefined && group.nodeClass.instanceProfile === undefined) needsRole(group);
}

/** Sets selector terms with the tags that eksctl adds to its subnets. */
function network(group: NodeGroup, field: Field, cluster: Field): void {
  const isPrivate = field.at('privateNetworking').given?.flag() ?? false;
  const known = cluster
    .at('vpc')
    .at('subnets')
    .at(isPrivate ? 'private' : 'public');
  const idOf = (name: string): string | undefined =>
    name.startsWith('subnet-')
      ? name
      : ['private', 'public']
          .map((kind) => textOf(cluster.at('vpc').at('subnets').at(kind).at(name).at('id')))
          .find(Boolean);
  const named = textsOf(field.at('subnets'));
  const ids = (named.length > 0 ? named : known.keys()).flatMap(
    (name) => idOf(name) ?? textOf(known.at(name).at('id')) ?? [],
  );
  if (ids.length > 0) {
    group.nodeClass.subnetSelectorTerms = ids.map((id) => ({ id }));
    return;
  }
  const clusterName = looseTextOf(cluster.at('metadata').at('name')) ?? CLUSTER_PLACEHOLDER;
  const role = isPrivate ? 'kubernetes.io/role/internal-elb' : 'kubernetes.io/role/elb';
  group.nodeClass.subnetSelectorTerms = [{ tags: { 'alpha.eksctl.io/cluster-name': clusterName, [role]: '1' } }];
  group.onClass(
    'assumed',
    named.length > 0 ? ['subnets'] : [],
    `the ${isPrivate ? 'private' : 'public'} subnets that eksctl created for the cluster, by tag`,
    ['spec', 'subnetSelectorTerms'],
  );
}

function volumes(group: NodeGroup, field: Field): void {
  const volume = {
    sizeGi: field.at('volumeSize').given?.count() ?? 80,
    type: textOf(field.at('volumeType')) ?? 'gp3',
    iops: field.at('volumeIOPS').given?.count(),
    throughput: field.at('volumeThroughput').given?.count(),
    encrypted: field.at('volumeEncrypted').given?.flag(),
    kmsKeyID: textOf(field.at('volumeKmsKeyID')),
  };
  addVolume(group, textOf(field.at('volumeName')) ?? dataDevice(group), volume);
  for (const one of field.at('additionalVolumes').items())
    addVolume(group, one.at('volumeName').text(), {
      sizeGi: one.at('volumeSize').given?.count(),
      type: textOf(one.at('volumeType')),
      iops: one.at('volumeIOPS').given?.count(),
      throughput: one.at('volumeThroughput').given?.count(),
      encrypted: one.at('volumeEncrypted').given?.flag(),
      snapshotID: textOf(one.at('snapshotID')),
    });
}

function distribution(group: NodeGroup, field: Field, path: Path): void {
  const types = textsOf(field.at('instanceTypes'));
  if (types.length > 0) setInstanceTypes(group, types);
  applyDistribution(
    group,
    {
      base: field.at('onDemandBaseCapacity').given?.count(),
      percent: field.at('onDemandPercentageAboveBaseCapacity').given?.count(),
      maxPrice: looseTextOf(field.at('maxPrice')),
    },
    path,
  );
}

/** Reads taints from a list of objects, or from the older map of `key: value:Effect`. */
function taints(group: NodeGroup, field: Field, path: Path): void {
  if (Array.isArray(field.value)) {
    addTaints(group, field, path);
    return;
  }
  for (const [key, text] of Object.entries(mapOf(field))) {
    const colon = text.lastIndexOf(':');
    const taint: GivenTaint = { key, value: text.slice(0, Math.max(0, colon)), effect: text.slice(colon + 1) };
    addTaint(group, taint, [...path, key]);
  }
}

function iam(group: NodeGroup, field: Field, path: Path): void {
  const [role, name, profile] = ['instanceRoleARN', 'instanceRoleName', 'instanceProfileARN'].map((key) =>
    textOf(field.at(key)),
  );
  if (role !== undefined) group.nodeClass.role = nameOfArn(role);
  else if (name !== undefined) group.nodeClass.role = name;
  else if (profile !== undefined) group.nodeClass.instanceProfile = nameOfArn(profile);
  const policies = ['attachPolicy', 'attachPolicyARNs', 'withAddonPolicies'].filter((key) => !field.at(key).isMissing);
  if (policies.length > 0)
    group.onClass(
      'lost',
      path,
      `${policies.join(', ')}: the role of the nodes must have these permissions; preferably grant them to the pods that need them (IRSA, Pod Identity)`,
      ['spec', 'role'],
    );
}
