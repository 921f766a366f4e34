/**
 * Launch templates of launches: planned for the instance types, created in EC2 when a launch first needs them, and
 * deleted a minute after the last launch that needs them.
 */
import {
  CreateLaunchTemplateCommand,
  DeleteLaunchTemplateCommand,
  DescribeLaunchTemplatesCommand,
  type EC2Client,
  paginateDescribeLaunchTemplates,
  type RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import { LRUCache } from 'lru-cache';
import {
  EC2_NODECLASS_LABEL,
  type EC2NodeClass,
  type NodeClaim,
  PLACEMENT_GROUP_PARTITION_LABEL,
  type StringMap,
} from '#api/objects';
import { type InstanceType, Requirements } from '#engine/model';
import { after, type Singleton } from '#kube/reconcilers';
import { messageOf, remembering } from '#lib';
import { type Clock, TtlCache } from '#lib/clock';
import type { Logger } from '#observe/logger';
import { familyOf } from '../amis/families.ts';
import type { ClusterFacts } from '../cluster.ts';
import { codeOf, combineErrors, isNotFound } from '../errors.ts';
import { decimalFingerprint } from '../fingerprint.ts';
import { isOfAnotherCluster } from '../identity.ts';
import { NITRO_SANDBOX_RESOURCE, requestsEfa } from '../instancetypes/capacity.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import type { AwsMetrics } from '../metrics.ts';
import { pagesOf } from '../pages.ts';
import type { PlacementGroup } from '../placementgroups.ts';
import { CLUSTER_NAME_TAG, tagList, tagMap } from '../tags.ts';
import { nodeLabels, nodeTaints } from '../userdata/input.ts';
import { effectiveKubelet } from '../userdata/kubelet.ts';
import { bottlerocketVersion, renderUserData } from '../userdata/userdata.ts';
import { type TemplateReservation, templateData } from './content.ts';
import { groupTypes, type TemplateGroup } from './groups.ts';

const TTL_MS = 60_000;
const SWEEP_MS = 60_000;
/** Size in bytes, close to EC2's limit of 16384 bytes. */
const LARGE_USER_DATA = 14_745;
const NAME_TAKEN = 'InvalidLaunchTemplateName.AlreadyExistsException';
const NAME_PREFIX = 'karpenter.k8s.aws/';

interface LaunchTemplate {
  readonly name: string;
  readonly data: RequestLaunchTemplateData;
  readonly tags: StringMap;
}

/** Names a template by its content and `identity`, so that an equal template has the same name. */
const templateName = (data: RequestLaunchTemplateData, tags: StringMap, identity: unknown): string =>
  `${NAME_PREFIX}${decimalFingerprint([data, tags, identity])}`;

interface LaunchTemplatesOptions {
  readonly ec2: EC2Client;
  readonly clusterName: string;
  /** Templates of clusters with another UID are ignored. */
  readonly clusterUid?: string | undefined;
  readonly clock: Clock;
  readonly log: Logger;
  readonly metrics: AwsMetrics;
}

export class LaunchTemplates {
  readonly #options: LaunchTemplatesOptions;
  /** Ids by name. */
  readonly #known: TtlCache<string, string>;
  readonly #ensuring = new Map<string, Promise<void>>();
  readonly #expired: { name: string; id: string }[] = [];

  constructor(options: LaunchTemplatesOptions) {
    this.#options = options;
    this.#known = new TtlCache(options.clock, TTL_MS, { evicted: (name, id) => this.#expired.push({ name, id }) });
  }

  /** Ensures that EC2 has the templates of a launch, and returns them. */
  async ensureAll(input: TemplatePlanInput): Promise<readonly TemplateConfig[]> {
    const planned = planTemplates(input);
    await Promise.all(planned.map(({ template }) => this.ensure(template, input.nodeClass.metadata.name)));
    return planned.map(({ config }) => config);
  }

  /** Ensures that EC2 has the template. Concurrent calls for the same template share the work. */
  async ensure(template: LaunchTemplate, nodeClassName: string): Promise<void> {
    const { name } = template;
    const id = this.#known.get(name);
    if (id !== undefined) {
      this.#known.set(name, id);
      return;
    }
    let ensuring = this.#ensuring.get(name);
    if (ensuring === undefined) {
      ensuring = this.#find(template, nodeClassName).finally(() => this.#ensuring.delete(name));
      this.#ensuring.set(name, ensuring);
    }
    await ensuring;
  }

  async #find(template: LaunchTemplate, nodeClassName: string): Promise<void> {
    const id = (await this.#describe(template.name)) ?? (await this.#create(template, nodeClassName));
    this.#known.set(template.name, id);
  }

  async #describe(name: string): Promise<string | undefined> {
    try {
      const answer = await this.#options.ec2.send(new DescribeLaunchTemplatesCommand({ LaunchTemplateNames: [name] }));
      const found = answer.LaunchTemplates ?? [];
      if (found.length !== 1)
        throw new Error(`expected to find one launch template (launch-template-count=${found.length})`);
      return found[0]?.LaunchTemplateId;
    } catch (error) {
      if (isNotFound(error)) return undefined;
      throw new Error(`describing launch templates, ${messageOf(error)}`, { cause: error });
    }
  }

  async #create({ name, data, tags }: LaunchTemplate, nodeClassName: string): Promise<string> {
    const { ec2, metrics, log } = this.#options;
    const bytes = Buffer.from(data.UserData ?? '', 'base64').length;
    metrics.userDataBytes.set({ nodeclass: nodeClassName }, bytes);
    if (bytes >= LARGE_USER_DATA)
      log.error('user data is close to the size limit of EC2', { EC2NodeClass: { name: nodeClassName }, bytes });
    try {
      const answer = await ec2.send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: name,
          LaunchTemplateData: data,
          TagSpecifications: [{ ResourceType: 'launch-template', Tags: tagList(tags) }],
        }),
      );
      const id = answer.LaunchTemplate?.LaunchTemplateId ?? '';
      log.debug('created launch template', { id });
      return id;
    } catch (error) {
      // The response to an earlier try was lost, or another replica created the template. Equal names mean equal content.
      const id = codeOf(error) === NAME_TAKEN ? await this.#describe(name) : undefined;
      if (id !== undefined) return id;
      throw new Error(`creating launch template, ${messageOf(error)}`, { cause: error });
    }
  }

  /** Removes templates from the cache that EC2 no longer has. */
  forget(names: readonly string[]): void {
    for (const name of names) this.#known.forget(name);
  }

  /** Adds the templates of an earlier leader to the cache, so that they are used or deleted. */
  async hydrate(): Promise<void> {
    for (const { name, id } of await this.#list([
      { Name: `tag:${CLUSTER_NAME_TAG}`, Values: [this.#options.clusterName] },
    ]))
      this.#known.set(name, id);
  }

  async #list(Filters: { Name: string; Values: string[] }[]): Promise<readonly { name: string; id: string }[]> {
    const found: { name: string; id: string }[] = [];
    for await (const page of pagesOf(
      'DescribeLaunchTemplates',
      paginateDescribeLaunchTemplates({ client: this.#options.ec2 }, { Filters, MaxResults: 200 }),
    ))
      for (const { LaunchTemplateName: name = '', LaunchTemplateId: id = '', Tags } of page.LaunchTemplates ?? [])
        if (!isOfAnotherCluster(tagMap(Tags), this.#options.clusterUid)) found.push({ name, id });
    return found;
  }

  /** Deletes templates that no launch has used for a while. Logs failures. The next leader lists these templates again. */
  async deleteUnused(): Promise<void> {
    this.#known.sweep();
    for (const { name, id } of this.#expired.splice(0)) {
      if (this.#known.has(name)) continue;
      try {
        await this.#options.ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateId: id }));
        this.#options.log.debug('deleted launch template', { id, name });
      } catch (error) {
        if (!isNotFound(error)) this.#options.log.error('failed to delete launch template', { id, name, error });
      }
    }
  }

  /** Deletes every template of a NodeClass. @throws Error if some remain */
  async deleteAll(nodeClass: EC2NodeClass): Promise<void> {
    const { clusterName, ec2, metrics, log } = this.#options;
    const templates = await this.#list([
      { Name: `tag:${CLUSTER_NAME_TAG}`, Values: [clusterName] },
      { Name: `tag:${EC2_NODECLASS_LABEL}`, Values: [nodeClass.metadata.name] },
    ]);
    const failures: unknown[] = [];
    for (const { name } of templates) {
      this.#known.forget(name);
      try {
        await ec2.send(new DeleteLaunchTemplateCommand({ LaunchTemplateName: name }));
      } catch (error) {
        failures.push(error);
      }
    }
    metrics.userDataBytes.remove({ nodeclass: nodeClass.metadata.name });
    if (failures.length > 0) throw combineErrors('deleting launch templates', failures);
    if (templates.length > 0)
      log.debug('deleted launch templates', { launchTemplates: templates.map(({ name }) => name) });
  }
}

export function launchTemplatesController(templates: LaunchTemplates): Singleton {
  let hydrated = false;
  return {
    name: 'providers.launchtemplate',
    singleton: true,
    async reconcile({ log }) {
      if (!hydrated) {
        try {
          await templates.hydrate();
          hydrated = true;
        } catch (error) {
          log.error('failed to list launch templates', { error });
        }
      }
      await templates.deleteUnused();
      return after(SWEEP_MS);
    },
  };
}

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
  /** Returns the resources that the kubelet reserves on nodes of an instance type. */
  readonly reservedOf: (instanceType: string) => Reserved;
  readonly log: Logger;
}

/** Launch template with the instance types that use it. */
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
 * Returns the partition that a NodeClaim requires, or undefined if it accepts every partition. If the NodeClaim excludes some
 * partitions, returns one of the others, because EC2 chooses among all partitions.
 */
export function chosenPartition(claim: NodeClaim, group: PlacementGroup | undefined): string | undefined {
  const set = Requirements.fromRequirements(claim.spec.requirements).get(PLACEMENT_GROUP_PARTITION_LABEL);
  if (!set.complement) return set.sorted[0];
  if (set.isEverything) return undefined;
  const all = Array.from({ length: group?.partitions ?? 0 }, (_, at) => String(at + 1));
  return all.find((partition) => set.has(partition));
}

/** Cache of templates by their inputs, because NodeClaims that are launched together mostly need the same templates. */
const templatesFor = remembering((_: EC2NodeClass) => new LRUCache<string, LaunchTemplate>({ max: 500 }));

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
  const known = templatesFor(nodeClass);
  const template = known.get(key) ?? makeTemplate(input, group);
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

/**
 * Plans one launch template for each group of types that can share a template.
 * @throws Error if the NodeClass has no security groups, no images, or no image for the types
 */
export function planTemplates(input: TemplatePlanInput): readonly PlannedTemplate[] {
  const { securityGroups = [], amis = [] } = input.nodeClass.status ?? {};
  if (securityGroups.length === 0) throw new Error('no security groups are present in the status');
  if (amis.length === 0) throw new Error('no amis exist given constraints');
  const wantsEfa = requestsEfa(input.claim);
  const { capacityType, reservedOf } = input;
  const groups = groupTypes(input.types, amis, { capacityType, wantsEfa, reservedOf });
  if (groups.length === 0)
    throw new Error(`no instance types satisfy requirements of amis [${amis.map(({ id }) => id).join(' ')}]`);
  return groups.map((group) => {
    const template = templateOf(input, group);
    const { imageId, types, reservation } = group;
    return { template, config: { name: template.name, imageId, types, reservation } };
  });
}
