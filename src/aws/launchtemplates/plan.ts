/** The launch templates that a launch needs. */
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import type { StringMap } from '../../api/kubernetes.ts';
import { PLACEMENT_GROUP_PARTITION_LABEL } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { InstanceType } from '../../engine/model.ts';
import { Requirements } from '../../engine/requirements.ts';
import type { Logger } from '../../observe/logger.ts';
import { familyOf } from '../amis/families.ts';
import type { ClusterFacts } from '../cluster.ts';
import { EFA_RESOURCE, NITRO_SANDBOX_RESOURCE } from '../instancetypes/capacity.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import type { PlacementGroup } from '../placementgroups.ts';
import { nodeLabels, nodeTaints } from '../userdata/input.ts';
import { effectiveKubelet } from '../userdata/kubelet.ts';
import { bottlerocketVersion, renderUserData } from '../userdata/userdata.ts';
import { type TemplateReservation, templateData } from './content.ts';
import { groupTypes, type TemplateGroup } from './groups.ts';
import { type LaunchTemplate, templateName } from './launchtemplates.ts';

export interface TemplatePlanInput {
  readonly nodeClass: EC2NodeClass;
  readonly claim: NodeClaim;
  readonly types: readonly InstanceType[];
  readonly capacityType: string;
  readonly tenancy: 'default' | 'dedicated';
  readonly tags: StringMap;
  readonly placementGroup: PlacementGroup | undefined;
  readonly cluster: ClusterFacts;
  readonly cidr: string | undefined;
  readonly region: string;
  readonly reservedCapacity: boolean;
  /** What the kubelet of a node of a type reserves. */
  readonly reservedOf: (instanceType: string) => Reserved;
  readonly log: Logger;
}

/** A launch template with the instance types that use it. */
export interface TemplateConfig {
  readonly name: string;
  readonly imageId: string;
  readonly types: readonly InstanceType[];
  readonly reservation: TemplateReservation | undefined;
}

interface PlannedTemplate {
  readonly template: LaunchTemplate;
  readonly config: TemplateConfig;
}

/**
 * The partition that a claim asks for; undefined when any will do. Where some are excluded one of the others is named,
 * because EC2 chooses among all.
 */
export function chosenPartition(claim: NodeClaim, group: PlacementGroup | undefined): string | undefined {
  const set = Requirements.fromRequirements(claim.spec.requirements).get(PLACEMENT_GROUP_PARTITION_LABEL);
  if (!set.complement) return set.sorted[0];
  if (set.isEverything) return undefined;
  const all = Array.from({ length: group?.partitions ?? 0 }, (_, at) => String(at + 1));
  return all.find((partition) => set.has(partition));
}

/** Templates by what they are made of: claims that come together mostly need the same ones. */
const made = new WeakMap<EC2NodeClass, Map<string, LaunchTemplate>>();
const MADE_AT_MOST = 500;

function templateOf(input: TemplatePlanInput, group: TemplateGroup): LaunchTemplate {
  const { nodeClass, claim, capacityType, tenancy, tags, placementGroup, cluster, cidr, region } = input;
  const { imageId, efaCount, pods, reserved, reservation } = group;
  const { taints, startupTaints, resources } = claim.spec;
  const key = JSON.stringify([
    [capacityType, tenancy, tags, placementGroup, cluster, cidr, region, input.reservedCapacity],
    [imageId, efaCount, pods, reserved, reservation],
    [claim.metadata.labels, taints, startupTaints, chosenPartition(claim, placementGroup)],
    resources?.requests?.[NITRO_SANDBOX_RESOURCE] !== undefined,
  ]);
  const known = made.get(nodeClass) ?? new Map<string, LaunchTemplate>();
  made.set(nodeClass, known);
  const template = known.get(key) ?? makeTemplate(input, group);
  if (known.size >= MADE_AT_MOST) known.clear();
  known.set(key, template);
  return template;
}

function makeTemplate(input: TemplatePlanInput, group: TemplateGroup): LaunchTemplate {
  const { nodeClass, claim, capacityType, cluster, cidr, placementGroup, tags } = input;
  const family = familyOf(nodeClass);
  const { dnsIp } = cluster;
  const userData = renderUserData(
    family,
    {
      cluster,
      cidr,
      labels: nodeLabels(claim, capacityType, family),
      taints: nodeTaints(claim),
      ...effectiveKubelet(nodeClass.spec.kubelet, { pods: group.pods, dnsIp, reserved: group.reserved }),
      custom: nodeClass.spec.userData,
      raid0: nodeClass.spec.instanceStorePolicy === 'RAID0',
      imageVersion: bottlerocketVersion(nodeClass),
    },
    input.log,
  );
  const partition = placementGroup?.strategy === 'partition' ? chosenPartition(claim, placementGroup) : undefined;
  const data = templateData({
    nodeClass,
    family,
    imageId: group.imageId,
    userData,
    tags,
    capacityType,
    tenancy: input.tenancy,
    efaCount: group.efaCount,
    nitroSandbox: claim.spec.resources?.requests?.[NITRO_SANDBOX_RESOURCE] !== undefined,
    dnsIp,
    region: input.region,
    placement:
      placementGroup === undefined
        ? undefined
        : { groupId: placementGroup.id, partition: partition === undefined ? undefined : Number(partition) },
    reservation: group.reservation,
    reservedCapacity: input.reservedCapacity,
  });
  const { caBundle: _, uid: __, ...facts } = cluster;
  const identity = [
    facts,
    cidr,
    nodeClass.metadata.name,
    nodeClass.spec.instanceStorePolicy,
    capacityType,
    group.efaCount,
  ];
  return { name: templateName(data, tags, identity), data, tags };
}

function plan(input: TemplatePlanInput, group: TemplateGroup): PlannedTemplate {
  const template = templateOf(input, group);
  const { imageId, types, reservation } = group;
  return { template, config: { name: template.name, imageId, types, reservation } };
}

/**
 * One template per group of types that can share one.
 * @throws Error when the NodeClass has no security groups or images, or none that is for the types
 */
export function planTemplates(input: TemplatePlanInput): readonly PlannedTemplate[] {
  const { securityGroups = [], amis = [] } = input.nodeClass.status ?? {};
  if (securityGroups.length === 0) throw new Error('no security groups are present in the status');
  if (amis.length === 0) throw new Error('no amis exist given constraints');
  const wantsEfa = input.claim.spec.resources?.requests?.[EFA_RESOURCE] !== undefined;
  const { capacityType, reservedOf } = input;
  const groups = groupTypes(input.types, amis, { capacityType, wantsEfa, reservedOf });
  if (groups.length === 0)
    throw new Error(`no instance types satisfy requirements of amis [${amis.map(({ id }) => id).join(' ')}]`);
  return groups.map((group) => plan(input, group));
}
