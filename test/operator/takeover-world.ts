/**
 * A cluster with a history of Karpenter 1.14.1 in the local world. Recorded AWS requests and recorded writes to the
 * cluster are repeated. The operator's own code is not involved.
 */
import { CreateFleetCommand, CreateLaunchTemplateCommand, CreateTagsCommand, EC2Client } from '@aws-sdk/client-ec2';
import { AddRoleToInstanceProfileCommand, CreateInstanceProfileCommand, IAMClient } from '@aws-sdk/client-iam';
import { EC2_NODE_CLASS, NODE, NODE_CLAIM, NODE_POOL, type Node, type NodeClaim, POD, type Pod } from '#api/objects';
import type { LocalAws, LocalAwsOptions } from '#local/testing';
import type { Json } from '../unit/aws/support/json.ts';
import { recordings } from '../unit/aws/support/recordings.ts';
import type { Scenario, ScenarioOptions } from './harness.ts';

const { world: recordedWorld, ...cases } = recordings();
export const CLUSTER: string = recordedWorld.cluster.name;
/** Included in the hashes of EC2NodeClasses. */
const CA: string = recordedWorld.cluster.caBundleBase64;

/**
 * Recorded cases to replay. They cover the differences that a takeover may get wrong; a node takes time, a case does
 * not.
 */
const REPLAYED = [
  'al2-shell',
  'al2023-arm64',
  'al2023-nodeconfig',
  'bdm-snapshot-rootvolume',
  'bottlerocket-toml',
  'connection-tracking',
  'custom-taints',
  'expire-never',
  'gpu-nvidia-al2023',
  'instance-profile',
  'kubelet-all-al2',
  'metadata-all',
  'network-interfaces-single',
  'placement-cluster',
  'pool-labels-taints',
  'pool-startuptaints-al2',
  'raid0-al2023',
  'reserved',
  'spot-only',
  'tags',
  'tenancy-dedicated',
  'weight',
] as const;

export const takenOver: Readonly<Record<string, Json>> = Object.fromEntries(
  REPLAYED.map((name) => [name, cases[name]]),
);

const HASH = 'karpenter.k8s.aws/ec2nodeclass-hash';
const HASH_VERSION = `${HASH}-version`;
/** Hash of `null`, for an EC2NodeClass without a kubelet block. Version v6 hashes that block separately. */
const NO_KUBELET = 13_728_408_170_730_661_446n;

/** Returns recorded metadata with a v6 hash, for an EC2NodeClass without a kubelet block or for its NodeClaim. */
export const withV6Hash = <T extends { readonly annotations: Readonly<Record<string, string>> }>(metadata: T): T => ({
  ...metadata,
  annotations: {
    ...metadata.annotations,
    [HASH]: String(BigInt(metadata.annotations[HASH] ?? '') ^ NO_KUBELET),
    [HASH_VERSION]: 'v6',
  },
});

/** Arbitrary timestamp. */
const SINCE = '2026-08-01T12:00:00Z';

/** Returns an arbitrary decimal of 64 bits, like the hashes in names by Karpenter. */
const number64 = (at: number, kind: number): string =>
  String(14_000_000_000_000_000_000n + BigInt(at * 1_000_003 + kind));

/** Returns the options of a scenario in the recorded account. */
export function recordedAccount(more: ScenarioOptions = {}): ScenarioOptions {
  return {
    operator: false,
    clusterName: CLUSTER,
    region: recordedWorld.region,
    aws: {
      account: 'empty',
      publicImages: false,
      accountId: recordedWorld.account,
      kubernetesVersion: recordedWorld.kubernetesVersion,
      zones: recordedWorld.zones,
      catalogue: catalogue(),
    },
    ...more,
    env: {
      CLUSTER_CA_BUNDLE: CA,
      EKS_CONTROL_PLANE: 'true',
      PACKING: 'compatible',
      CONSOLIDATION: 'compatible',
      ...more.env,
    },
  };
}

function catalogue(): NonNullable<LocalAwsOptions['catalogue']> {
  const { instanceTypes, offerings, onDemandPrices } = recordedWorld;
  const factors: Readonly<Record<string, number>> = { 'us-east-1a': 0.4, 'us-east-1b': 0.41, 'us-east-1c': 0.42 };
  return {
    types: Object.values(instanceTypes),
    zonesOf: (type) => offerings[type] ?? [],
    onDemandUsd: (type) => onDemandPrices[type],
    spotUsd: (type, zone) => {
      const factor = factors[zone];
      return factor === undefined ? undefined : onDemandPrices[type] * factor;
    },
  };
}

/** Creates the resources of the account before the first node. */
export function seedAccount({ seed }: LocalAws): void {
  const { vpc, subnets, securityGroups, images, ssmParameters, roles, instanceProfiles, cluster } = recordedWorld;
  seed.vpc({ id: vpc });
  for (const { id, zone, cidr, mapPublicIpOnLaunch, tags } of subnets)
    seed.subnet({ id, zone, cidr, public: mapPublicIpOnLaunch, tags, vpcId: vpc });
  for (const { id, name, tags } of securityGroups) seed.securityGroup({ id, name, tags, vpcId: vpc });
  for (const image of images)
    seed.image({
      ...image,
      platform: /Windows/.test(image.name) ? 'windows' : 'linux',
      // The system volume of Bottlerocket is small.
      ...(/bottlerocket/.test(image.name) ? { rootSizeGiB: 2 } : {}),
    });
  for (const [name, value] of Object.entries<string>(ssmParameters)) seed.parameter(name, value);
  for (const role of roles) seed.role(role);
  seed.role('AWSServiceRoleForEC2Spot', '/aws-service-role/spot.amazonaws.com/');
  for (const { name, role } of instanceProfiles) seed.instanceProfile({ name, role });
  for (const each of recordedWorld.capacityReservations)
    seed.capacityReservation({
      id: each.capacityReservationId,
      instanceType: each.instanceType,
      zone: each.availabilityZone,
      total: each.totalInstanceCount,
      available: each.availableInstanceCount,
      matchCriteria: each.instanceMatchCriteria,
      ownerId: each.ownerId,
      tags: each.tags,
    });
  for (const { groupName, groupId, strategy, partitionCount } of recordedWorld.placementGroups)
    seed.placementGroup({ name: groupName, id: groupId, strategy, partitions: partitionCount });
  seed.cluster({
    name: CLUSTER,
    version: recordedWorld.kubernetesVersion,
    serviceIpv4Cidr: cluster.describeCluster.kubernetesNetworkConfig.serviceIpv4Cidr,
  });
  seed.queue(CLUSTER);
}

/** Names and ids that are missing in the recordings. */
interface Given {
  readonly profile: string;
  readonly claim: string;
  readonly template: (recordedName: string) => string;
  readonly endpoint: string;
}

/** Node of the recording with its objects in the cluster. */
export interface TakenNode {
  readonly pool: string;
  readonly claim: NodeClaim;
  readonly node: Node;
}

/** Creates the state that Karpenter left. Returns the nodes by name of the case. */
export async function leaveBehind(scenario: Scenario): Promise<ReadonlyMap<string, TakenNode>> {
  const { aws } = scenario.world;
  seedAccount(aws);
  const ec2 = new EC2Client({});
  const iam = new IAMClient({});
  try {
    const left = new Map<string, Left>();
    for (const [at, [name, recorded]] of Object.entries(takenOver).entries()) {
      const profile =
        recorded.nodeClass.status.instanceProfile === 'live_INSTANCE-PROFILE'
          ? `${CLUSTER}_${number64(at, 1)}`
          : recorded.nodeClass.status.instanceProfile;
      const given: Given = {
        profile,
        claim: `${recorded.nodeClaims[0].metadata.labels['karpenter.sh/nodepool']}-x${at.toString(36).padStart(4, 'k')}`,
        template: (recordedName) => `karpenter.k8s.aws/${number64(at, 10 + Number(recordedName.split('-').at(-1)))}`,
        endpoint: scenario.world.kube.url,
      };
      left.set(name, await replayCase(scenario, { ec2, iam }, recorded, given));
    }
    const nodes = await scenario.until('nodes of all instances', async () => {
      const found = (await scenario.kube.list(NODE)).items;
      const ready = (id: string) =>
        found.find(
          ({ spec, status }) =>
            spec?.providerID === id &&
            !spec.taints?.some(({ key }) => key === 'node.kubernetes.io/not-ready') && // removed a moment later
            status?.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
        );
      const each = [...left].map(([name, { providerId }]) => [name, ready(providerId)] as const);
      return each.every(([, node]) => node !== undefined) && new Map(each as [string, Node][]);
    });
    const taken = new Map<string, TakenNode>();
    for (const [name, { recorded, claim }] of left) {
      const node = nodes.get(name) as Node;
      taken.set(name, await settle(scenario, recorded, claim, node));
      await tagInstance(ec2, recorded, claim, node);
    }
    aws.calls.clear();
    return taken;
  } finally {
    ec2.destroy();
    iam.destroy();
  }
}

interface Left {
  readonly recorded: Json;
  readonly claim: NodeClaim;
  readonly providerId: string;
}

interface Accounts {
  readonly ec2: EC2Client;
  readonly iam: IAMClient;
}

/** Creates the objects of a case from the EC2NodeClass to the NodeClaim, without the NodeClaim's status. */
async function replayCase(
  { kube, world }: Scenario,
  { ec2, iam }: Accounts,
  recorded: Json,
  given: Given,
): Promise<Left> {
  const { nodeClass, nodePools } = recorded.manifests;
  const { metadata } = recorded.nodeClaims[0];
  const createdClass = await kube.create(EC2_NODE_CLASS, {
    ...nodeClass,
    metadata: { ...nodeClass.metadata, ...recorded.nodeClass.metadata },
  });
  for (const { action, input } of recorded.instanceProfiles) {
    const named = { ...input, InstanceProfileName: given.profile };
    if (action === 'AddRoleToInstanceProfile') await iam.send(new AddRoleToInstanceProfileCommand(named));
    else {
      const Path = input.Path.replace('NODECLASS-UID', createdClass.metadata.uid);
      await iam.send(new CreateInstanceProfileCommand({ ...named, Path }));
    }
  }
  const conditions = stamped(recorded.nodeClass.status.conditions);
  await kube.patch(
    EC2_NODE_CLASS,
    createdClass.metadata,
    { status: { ...recorded.nodeClass.status, instanceProfile: given.profile, conditions } },
    { subresource: 'status' },
  );

  const hash = Object.fromEntries(
    Object.entries(metadata.annotations as Record<string, string>).filter(([key]) =>
      key.startsWith('karpenter.sh/nodepool-hash'),
    ),
  );
  let owner: Json = {};
  for (const pool of nodePools) {
    // The recorded hash belongs to the owner NodePool; other NodePools have their own.
    const isOwner = pool.metadata.name === metadata.labels['karpenter.sh/nodepool'];
    const annotations = isOwner ? hash : {};
    const created = await kube.create(NODE_POOL, { ...pool, metadata: { ...pool.metadata, annotations } });
    if (isOwner) owner = created;
    await kube.patch(NODE_POOL, created.metadata, { status: poolStatus() }, { subresource: 'status' });
  }

  const providerId = await launch(ec2, recorded, given);
  const { uid, name } = owner.metadata;
  const claim = await kube.create(NODE_CLAIM, {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      ...metadata,
      name: given.claim,
      annotations: { ...metadata.annotations, 'karpenter.k8s.aws/instance-profile-name': given.profile },
      ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodePool', name, uid, blockOwnerDeletion: true }],
    },
    spec: recorded.nodeClaims[0].spec,
  });
  void world;
  return { recorded, claim, providerId };
}

const stamped = (conditions: readonly Json[]): Json[] =>
  conditions.map((condition) => ({ ...condition, lastTransitionTime: SINCE, observedGeneration: 1 }));

const isTrue = (type: string): Json => ({ type, status: 'True', reason: type, message: '' });

const poolStatus = (): Json => ({
  nodeClassObservedGeneration: 1,
  conditions: stamped([
    isTrue('NodeClassReady'),
    isTrue('ValidationSucceeded'),
    isTrue('NodeRegistrationHealthy'),
    isTrue('Ready'),
  ]),
});

/** Repeats the recorded launch. Returns the provider ID. */
async function launch(ec2: EC2Client, recorded: Json, given: Given): Promise<string> {
  const [answer] = recorded.ec2Answer;
  const templateOf = (name: string): Json =>
    recorded.launchTemplates.find((each: Json) => each.LaunchTemplateName === name);
  const { LaunchTemplateData: data, ...template } = templateOf(answer.LaunchTemplateName);
  const text: string = data.UserData.text.replaceAll(recordedWorld.cluster.endpoint, given.endpoint);
  await ec2.send(
    new CreateLaunchTemplateCommand({
      ...template,
      LaunchTemplateName: given.template(template.LaunchTemplateName),
      LaunchTemplateData: {
        ...data,
        UserData: Buffer.from(text).toString('base64'),
        IamInstanceProfile: { Name: given.profile },
      },
    }),
  );
  const [fleet] = recorded.fleets;
  const config = fleet.LaunchTemplateConfigs.flatMap(({ LaunchTemplateSpecification: of, Overrides }: Json) =>
    Overrides.filter(
      (each: Json) =>
        of.LaunchTemplateName === answer.LaunchTemplateName &&
        each.InstanceType === answer.InstanceType &&
        each.SubnetId === answer.SubnetId,
    ).map((override: Json) => ({
      LaunchTemplateSpecification: { ...of, LaunchTemplateName: given.template(of.LaunchTemplateName) },
      Overrides: [override],
    })),
  );
  const { Instances: [bought] = [], Errors } = await ec2.send(
    new CreateFleetCommand({ ...fleet, LaunchTemplateConfigs: config }),
  );
  const [id] = bought?.InstanceIds ?? [];
  if (id === undefined) throw new Error(`${recorded.name}: ${JSON.stringify(Errors)}`);
  return `aws:///${answer.AvailabilityZone}/${id}`;
}

const UNREGISTERED = 'karpenter.sh/unregistered';

/** Registers and initializes the node by repeating Karpenter's writes to the Node and to the NodeClaim. */
async function settle({ kube }: Scenario, recorded: Json, claim: NodeClaim, node: Node): Promise<TakenNode> {
  const { uid, name } = claim.metadata;
  const { spec } = claim;
  const startup = new Set((spec.startupTaints ?? []).map(({ key }) => key));
  const has = (key: string, effect: string | undefined) =>
    node.spec?.taints?.some((taint) => taint.key === key && taint.effect === effect) ?? false;
  const missing = (spec.taints ?? []).filter(({ key, effect }) => !has(key, effect));
  const taints = [...(node.spec?.taints ?? []), ...missing].filter(
    ({ key }) => key !== UNREGISTERED && !startup.has(key),
  );
  const marks = { 'karpenter.sh/registered': 'true', 'karpenter.sh/initialized': 'true' };
  const settled = await kube.patch(NODE, node.metadata, {
    metadata: {
      labels: { ...claim.metadata.labels, ...marks },
      annotations: claim.metadata.annotations,
      finalizers: ['karpenter.sh/termination'],
      ownerReferences: [{ apiVersion: 'karpenter.sh/v1', kind: 'NodeClaim', name, uid, blockOwnerDeletion: true }],
    },
    spec: { taints },
  });
  const status = {
    ...recorded.nodeClaims[0].status,
    providerID: node.spec?.providerID,
    nodeName: node.metadata.name,
    lastPodEventTime: SINCE,
    conditions: stamped(['ConsistentStateFound', 'Launched', 'Registered', 'Initialized', 'Ready'].map(isTrue)),
  };
  const written = await kube.patch(NODE_CLAIM, claim.metadata, { status }, { subresource: 'status' });
  const [pod] = recorded.manifests.pods;
  const running = podOf(pod, `${recorded.name}-runs`, {});
  await kube.create(POD, { ...running, spec: { ...running.spec, nodeName: node.metadata.name } });
  return { pool: claim.metadata.labels?.['karpenter.sh/nodepool'] ?? '', claim: written, node: settled };
}

const tagInstance = async (ec2: EC2Client, recorded: Json, claim: NodeClaim, node: Node): Promise<void> => {
  const id = node.spec?.providerID?.split('/').at(-1) ?? '';
  for (const { Tags } of recorded.createTags)
    await ec2.send(
      new CreateTagsCommand({
        Resources: [id],
        Tags: Tags.map(({ Key, Value }: Json) => ({
          Key,
          Value: Key === 'Name' ? node.metadata.name : Key === 'karpenter.sh/nodeclaim' ? claim.metadata.name : Value,
        })),
      }),
    );
};

/** Returns the pod of a case with another name and, optionally, with other requests. */
export function podOf(pod: Json, name: string, requests: Readonly<Record<string, string>>): Pod {
  const [container] = pod.spec.containers;
  const asked = { ...container.resources.requests, ...requests };
  return {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { ...pod.metadata, name, labels: { app: name } },
    spec: { ...pod.spec, containers: [{ ...container, resources: { ...container.resources, requests: asked } }] },
  };
}
