/** Launches one instance for a NodeClaim. */

import type { FleetLaunchTemplateConfigRequest } from '@aws-sdk/client-ec2';
import { LRUCache } from 'lru-cache';
import {
  CAPACITY_TYPE_LABEL,
  type EC2NodeClass,
  INSTANCE_TENANCY_LABEL,
  MIN_VALUES_RELAXED_ANNOTATION,
  type NodeClaim,
  PRICE_OVERLAY_ANNOTATION,
  poolNameOf,
  type StringMap,
} from '#api/objects';
import { CreateFailed, causeOf, InsufficientCapacity, NodeClassNotReady } from '#cloud';
import type { LaunchAnswer } from '#engine/explanations';
import { type InstanceType, minValuesText, satisfiesMinValues } from '#engine/model';
import type { EventRecorder } from '#kube/reconcilers';
import { messageOf } from '#lib';
import type { Clock } from '#lib/clock';
import { eventOf } from '#observe/events';
import type { Logger } from '#observe/logger';
import type { Pressure } from '#process/memory';
import { familyOf } from '../amis/families.ts';
import type { ClusterCidr, ClusterFacts } from '../cluster.ts';
import { LAUNCH_TEMPLATE_NOT_FOUND } from '../error-codes.ts';
import { codeOf, describeError, explainLaunchFailure, isClientFault, launchFailure } from '../errors.ts';
import { SPOT_SLR_CREATION_FAILED } from '../events.ts';
import type { Instance } from '../instances/instance.ts';
import { EFA_RESOURCE, requestsEfa } from '../instancetypes/capacity.ts';
import type { Reserved } from '../kubelet/expressions.ts';
import { chosenPartition, type LaunchTemplates, type TemplateConfig } from '../launchtemplates/launchtemplates.ts';
import type { AwsMetrics } from '../metrics.ts';
import type { UnavailableOfferings } from '../offerings/unavailable.ts';
import type { PlacementGroup, PlacementGroups } from '../placementgroups.ts';
import type { Reservations } from '../reservations/reservations.ts';
import type { SpotRisk } from '../spot-risk/spot-risk.ts';
import type { Subnets, ZonalSubnet } from '../subnets/subnets.ts';
import { launchTags } from '../tags.ts';
import { type FleetAnswer, type Fleets, fleetRequest } from './create-fleet.ts';
import { type FleetContext, launchError, recordFleetErrors, recordRequestError } from './failures.ts';
import {
  chooseCapacityType,
  isReordered,
  LaunchChoices,
  type LaunchRequirements,
  MAX_FLEET_TYPES,
  overridesOf,
  type Rejection,
  reservationFor,
} from './launch-choice.ts';

/** With fewer instance types, a fallback from spot to on-demand is likely. */
const FLEXIBLE_TYPES = 5;
const LISTED_NAMES = 5;
/** Maximum number of responses that are kept for explanations, and of errors in each. */
const MOST_ANSWERS = 2_000;
const MOST_ERRORS = 20;

interface LauncherOptions {
  readonly cluster: ClusterFacts;
  readonly cidr: ClusterCidr;
  readonly region: string;
  readonly reservedCapacity: boolean;
  /** Resources that the kubelet of a node reserves, by instance type. */
  readonly reservedOf: (nodeClass: EC2NodeClass, instanceType: string) => Reserved;
  readonly minValuesPolicy: 'Strict' | 'BestEffort';
  readonly subnets: Subnets;
  readonly templates: LaunchTemplates;
  readonly fleets: Fleets;
  readonly placementGroups: PlacementGroups;
  readonly reservations: Reservations;
  readonly unavailable: UnavailableOfferings;
  readonly spotRisk?: Pick<SpotRisk, 'capacityError'>;
  readonly events: EventRecorder;
  readonly metrics: AwsMetrics;
  readonly clock: Clock;
  readonly log: Logger;
  /** Undefined if memory is never short. */
  readonly pressure?: Pick<Pressure, 'onShort'> | undefined;
}

/** A launch with its chosen instance types, capacity type and tenancy. */
interface Launch {
  readonly nodeClass: EC2NodeClass;
  readonly claim: NodeClaim;
  readonly types: readonly InstanceType[];
  readonly required: LaunchRequirements;
  readonly capacityType: string;
  readonly tenancy: 'default' | 'dedicated';
  readonly tags: StringMap;
  readonly placementGroup: PlacementGroup | undefined;
}

export class Launcher {
  readonly #options: LauncherOptions;
  readonly #choices = new LaunchChoices();
  /** Latest response to each NodeClaim, by UID. */
  readonly #answers = new LRUCache<string, LaunchAnswer>({ max: MOST_ANSWERS });

  constructor(options: LauncherOptions) {
    this.#options = options;
    options.pressure?.onShort(() => this.#choices.clear());
  }

  /** @throws InsufficientCapacity, CreateFailed, NodeClassNotReady */
  async launch(nodeClass: EC2NodeClass, claim: NodeClaim, offered: readonly InstanceType[]): Promise<Instance> {
    const required = this.#choices.requirementsOf(claim);
    const types = this.#choose(claim, offered, required);
    const capacityType = chooseCapacityType(types, required);
    this.#warnOfFallback(capacityType, types, required);
    const tenancies = required.requirements.get(INSTANCE_TENANCY_LABEL);
    const launch: Launch = {
      nodeClass,
      claim,
      types,
      required,
      capacityType,
      tenancy: !tenancies.has('default') && tenancies.has('dedicated') ? 'dedicated' : 'default',
      tags: launchTags(nodeClass, this.#options.cluster, poolNameOf(claim)),
      placementGroup: await this.#options.placementGroups.current(nodeClass),
    };
    try {
      return await this.#attempt(launch);
    } catch (error) {
      // The launch templates were deleted outside this process. The cache has removed them, so a second attempt
      // creates them again.
      if (codeOf(error) === LAUNCH_TEMPLATE_NOT_FOUND) return await this.#attempt(launch);
      throw error;
    }
  }

  /** Returns EC2's response to the launch of a NodeClaim, unless the process was restarted since then. */
  answerOf({ metadata }: NodeClaim): LaunchAnswer | undefined {
    return this.#answers.get(metadata.uid ?? metadata.name);
  }

  #rememberAnswer({ claim, types }: Launch, { order, bought, errors }: FleetAnswer): void {
    const overrides = bought?.fleetInstance.LaunchTemplateAndOverrides?.Overrides ?? {};
    const instanceType = bought?.fleetInstance.InstanceType ?? overrides.InstanceType ?? '';
    const launched = bought && { id: bought.id, instanceType, zone: overrides.AvailabilityZone ?? '' };
    this.#answers.set(claim.metadata.uid ?? claim.metadata.name, {
      requestedTypes: types.length,
      capacityType: order.capacityType,
      ...(launched && { launched }),
      errors: errors.slice(0, MOST_ERRORS).map(({ ErrorCode = '', ErrorMessage = '', LaunchTemplateAndOverrides }) => ({
        instanceType: LaunchTemplateAndOverrides?.Overrides?.InstanceType ?? '',
        zone: LaunchTemplateAndOverrides?.Overrides?.AvailabilityZone ?? '',
        text: `${ErrorCode}: ${ErrorMessage}`,
      })),
    });
  }

  #rememberRefusal({ claim, types, capacityType }: Launch, error: unknown): void {
    this.#answers.set(claim.metadata.uid ?? claim.metadata.name, {
      requestedTypes: types.length,
      capacityType,
      errors: [{ instanceType: '', zone: '', text: describeError(error) }],
    });
  }

  #choose(claim: NodeClaim, offered: readonly InstanceType[], required: LaunchRequirements): readonly InstanceType[] {
    const { types, rejections } = this.#choices.choose(claim, offered, required);
    for (const rejection of rejections) this.#logRejection(rejection);
    if (types.length === 0) {
      const text = 'all requested instance types were unavailable during launch';
      const answer = this.answerOf(claim)?.errors[0]?.text;
      throw new InsufficientCapacity(answer === undefined ? text : `${text}; the last answer of EC2 was ${answer}`);
    }
    const cheapest = types.slice(0, MAX_FLEET_TYPES);
    const { unsatisfied } = satisfiesMinValues(cheapest, required.requirements);
    if (this.#options.minValuesPolicy === 'Strict' && unsatisfied.length > 0)
      throw new InsufficientCapacity(
        `truncating instance types based on the passed-in requirements, validating minValues, ${minValuesText(unsatisfied)}`,
      );
    return cheapest;
  }

  #logRejection({ filter, names }: Rejection): void {
    const more = names.length - LISTED_NAMES;
    const listed = names.slice(0, LISTED_NAMES).join(', ');
    this.#options.log.debug('filtered out instance types from launch', {
      filter,
      'instance-types': more > 0 ? `${listed} and ${more} other(s)` : listed,
    });
  }

  #warnOfFallback(capacityType: string, types: readonly InstanceType[], { requirements }: LaunchRequirements): void {
    const flexible = requirements.get(CAPACITY_TYPE_LABEL).has('spot');
    if (capacityType !== 'on-demand' || !flexible || types.length >= FLEXIBLE_TYPES) return;
    this.#options.log.error('failed while checking on-demand fallback', {
      error: `at least ${FLEXIBLE_TYPES} instance types are recommended when flexible to spot but requesting on-demand, the current provisioning request only has ${types.length} instance type options`,
    });
  }

  async #attempt(launch: Launch): Promise<Instance> {
    const { subnets } = this.#options;
    if ((launch.nodeClass.status?.subnets ?? []).length === 0)
      throw new CreateFailed('SubnetResolutionFailed', 'Error getting subnets');
    const zonal = subnets.chooseForLaunch(launch.nodeClass, launch.types, launch.capacityType);
    const used = new Set<string>();
    let requested: readonly ZonalSubnet[] = [...zonal.values()];
    try {
      const configs = await this.#ensureTemplates(launch);
      const overrides = this.#overrides(launch, configs, zonal);
      const ids = new Set(overrides.flatMap(({ Overrides = [] }) => Overrides.map(({ SubnetId }) => SubnetId)));
      requested = requested.filter(({ id }) => ids.has(id));
      const answer = await this.#order(launch, configs, overrides, zonal);
      const instance = this.#settle({ ...launch, capacityType: answer.order.capacityType }, answer, zonal);
      used.add(instance.subnetId);
      return instance;
    } finally {
      subnets.releaseUnused(requested, used);
    }
  }

  /** Returns the CIDR that NodeClass validation resolved. After a restart, it must be requested first. */
  async #serviceCidr(nodeClass: EC2NodeClass): Promise<string | undefined> {
    const { cidr } = this.#options;
    if (!familyOf(nodeClass).needsServiceCidr) return cidr.known;
    try {
      return await cidr.resolve();
    } catch (error) {
      throw new Error(`failed to detect the cluster CIDR, ${messageOf(error)}`, { cause: error });
    }
  }

  async #ensureTemplates(launch: Launch): Promise<readonly TemplateConfig[]> {
    const { cluster, region, reservedCapacity, reservedOf, templates, log } = this.#options;
    try {
      return await templates.ensureAll({
        ...launch,
        cluster,
        cidr: await this.#serviceCidr(launch.nodeClass),
        region,
        reservedCapacity,
        reservedOf: (name) => reservedOf(launch.nodeClass, name),
        log,
      });
    } catch (error) {
      if (causeOf(error, NodeClassNotReady)) throw error;
      throw templateFailure(error);
    }
  }

  #overrides(
    { required, capacityType }: Launch,
    configs: readonly TemplateConfig[],
    zonal: ReadonlyMap<string, ZonalSubnet>,
  ): readonly FleetLaunchTemplateConfigRequest[] {
    const fleetConfigs = configs
      .map((config) => ({
        LaunchTemplateSpecification: { LaunchTemplateName: config.name, Version: '$Latest' },
        Overrides: overridesOf(config, required, capacityType, zonal),
      }))
      .filter(({ Overrides }) => Overrides.length > 0);
    if (fleetConfigs.length === 0)
      throw templateFailure(new Error('no capacity offerings are currently available given the constraints'));
    return fleetConfigs;
  }

  async #order(
    launch: Launch,
    configs: readonly TemplateConfig[],
    overrides: readonly FleetLaunchTemplateConfigRequest[],
    zonal: ReadonlyMap<string, ZonalSubnet>,
  ): Promise<FleetAnswer> {
    const { nodeClass, claim, capacityType, tags, types, required } = launch;
    const annotations = claim.metadata.annotations ?? {};
    const relaxed = annotations[MIN_VALUES_RELAXED_ANNOTATION] === 'true';
    const request = fleetRequest({
      configs: overrides,
      capacityType,
      reservation: configs[0]?.reservation,
      prioritized: annotations[PRICE_OVERLAY_ANNOTATION] !== undefined || isReordered(types, required, capacityType),
      tags,
      context: relaxed ? undefined : nodeClass.spec.context,
    });
    const order = { request, claimUid: claim.metadata.uid ?? claim.metadata.name, capacityType, configs };
    try {
      return await this.#options.fleets.create(order);
    } catch (error) {
      this.#rememberRefusal(launch, error);
      if (codeOf(error) !== LAUNCH_TEMPLATE_NOT_FOUND) {
        if (isClientFault(error))
          recordRequestError({ ErrorCode: codeOf(error) }, this.#contextOf(launch, order, zonal));
        throw launchFailure('Error creating fleet request', error);
      }
      this.#options.templates.forget(configs.map(({ name }) => name));
      throw launchFailure('Launch templates not found when creating fleet request', error);
    }
  }

  #settle(launch: Launch, answer: FleetAnswer, zonal: ReadonlyMap<string, ZonalSubnet>): Instance {
    const { order, bought, errors } = answer;
    this.#rememberAnswer(launch, answer);
    recordFleetErrors(errors, bought?.fleetId, this.#contextOf(launch, order, zonal));
    if (bought === undefined) throw launchError(errors);
    return this.#instanceFrom(launch, order.configs, bought);
  }

  #contextOf(
    launch: Launch,
    { request, configs }: FleetAnswer['order'],
    zonal: ReadonlyMap<string, ZonalSubnet>,
  ): FleetContext {
    const { unavailable, spotRisk, metrics, subnets, reservations } = this.#options;
    const { capacityType, placementGroup, claim } = launch;
    const overrides = (request.LaunchTemplateConfigs ?? []).flatMap(({ Overrides = [] }) => Overrides);
    return {
      capacityType,
      instanceTypes: launch.types.map(({ name }) => name),
      pools: overrides.map(({ InstanceType = '', AvailabilityZone = '' }) => ({
        instanceType: InstanceType,
        zone: AvailabilityZone,
      })),
      placementGroup: placementGroup && { id: placementGroup.id, partition: chosenPartition(claim, placementGroup) },
      zoneId: (zone) => zonal.get(zone)?.zoneID ?? '',
      unavailable,
      metrics,
      spotPoolEmpty: (pool) => spotRisk?.capacityError(pool),
      subnetExhausted: (id) => subnets.exhausted(id),
      reservationExhausted: (type, zone) => {
        const found = reservationFor(configs, type, zone);
        if (found !== undefined) reservations.exhausted(found.id);
      },
      spotRoleMissing: () => this.#reportSpotRoleMissing(launch),
    };
  }

  #reportSpotRoleMissing({ claim, capacityType }: Launch): void {
    if (capacityType === 'reserved') return;
    const dedupe = [claim.metadata.uid ?? claim.metadata.name];
    this.#options.events.publish(
      eventOf(SPOT_SLR_CREATION_FAILED, claim, { message: SPOT_SLR_CREATION_FAILED.message(), dedupe }),
    );
  }

  #instanceFrom(
    { nodeClass, claim, capacityType, tags, tenancy, types, placementGroup }: Launch,
    configs: readonly TemplateConfig[],
    { id, fleetInstance }: NonNullable<FleetAnswer['bought']>,
  ): Instance {
    const { LaunchTemplateAndOverrides: source, InstanceType } = fleetInstance;
    const overrides = source?.Overrides ?? {};
    const type = InstanceType ?? overrides.InstanceType ?? '';
    const name = source?.LaunchTemplateSpecification?.LaunchTemplateName;
    const config = configs.find((each) => each.name === name);
    const wantsEfa = requestsEfa(claim) || nodeClass.spec.networkInterfaces !== undefined;
    return {
      id,
      state: 'pending',
      launchedMs: this.#options.clock.now(),
      imageId: overrides.ImageId ?? config?.imageId ?? '',
      type,
      zone: overrides.AvailabilityZone ?? '',
      zoneId: '',
      subnetId: overrides.SubnetId ?? '',
      securityGroupIds: (nodeClass.status?.securityGroups ?? []).map((group) => group.id),
      capacityType: capacityType as Instance['capacityType'],
      tags,
      tenancy,
      reservation:
        capacityType === 'reserved' ? reservationFor(configs, type, overrides.AvailabilityZone ?? '') : undefined,
      placementGroupId: placementGroup?.id,
      partition: 0,
      efaCount: wantsEfa ? (types.find((each) => each.name === type)?.capacity[EFA_RESOURCE] ?? 0) : 0,
    };
  }
}

function templateFailure(error: unknown): CreateFailed {
  const text = describeError(error);
  return new CreateFailed(
    explainLaunchFailure(text).reason,
    `Error getting launch template configs: ${explainLaunchFailure(text).message}`,
    { cause: error },
  );
}
