/** Constructs the parts of the provider and connects them. */

import { EC2NODECLASS_CONDITIONS, EC2NODECLASS_RESERVED_CONDITIONS } from '#api/objects';
import { packingPolicy } from '#api/values';
import type { Interrupted } from '#cloud';
import type { Controller } from '#kube/reconcilers';
import { Amis, ssmInvalidation } from './amis/amis.ts';
import type { Clients } from './clients.ts';
import { ClusterCidr, type ClusterFacts, discoverCluster } from './cluster.ts';
import { CollectionReport } from './collection-report.ts';
import { Fleets } from './fleet/create-fleet.ts';
import { Launcher } from './fleet/fleet-launch.ts';
import { clusterObject, readClusterUid } from './identity.ts';
import { instanceProfileGarbageCollection } from './instanceprofiles/garbage-collection.ts';
import { InstanceProfiles } from './instanceprofiles/instanceprofiles.ts';
import type { Scope } from './instanceprofiles/names.ts';
import { instanceGarbageCollection } from './instances/garbage-collection.ts';
import { Instances } from './instances/instances.ts';
import { tagging } from './instances/tagging.ts';
import { capacityDiscovery } from './instancetypes/capacity-discovery.ts';
import { capacityKeeper } from './instancetypes/capacity-keeper.ts';
import { InstanceTypes, instanceTypesController } from './instancetypes/instancetypes.ts';
import { interruption } from './interruption/controller.ts';
import { instanceStatus } from './interruption/instance-status.ts';
import { LaunchTemplates, launchTemplatesController } from './launchtemplates/launchtemplates.ts';
import { type AwsMetrics, awsMetrics, measuredProvider } from './metrics.ts';
import { amiStep, placementGroupStep, reservationStep, securityGroupStep, subnetStep } from './nodeclass/discovery.ts';
import { fieldsStep } from './nodeclass/fields.ts';
import { nodeClassHash } from './nodeclass/hash.ts';
import { instanceProfileStep } from './nodeclass/instanceprofile.ts';
import { nodeClassController } from './nodeclass/nodeclass.ts';
import { terminate } from './nodeclass/nodeclass-termination.ts';
import { type NodeClassStep, stepTools } from './nodeclass/step.ts';
import { ValidationCache, validationStep } from './nodeclass/validation.ts';
import { offeringMetrics, typesInUse } from './offerings/metrics.ts';
import { offeringsReport } from './offerings/report.ts';
import { UnavailableOfferings } from './offerings/unavailable.ts';
import { offeringsWatch } from './offerings/watch.ts';
import type { AwsOptions, AwsProvider } from './options.ts';
import { PlacementGroups } from './placementgroups.ts';
import { OverlayPrices } from './pricing/overlay.ts';
import { PriceBookFile, priceBookController } from './pricing/price-book-file.ts';
import { Pricing, pricingController } from './pricing/pricing.ts';
import { Ec2Provider } from './provider.ts';
import { reservationCalendar } from './reservations/calendar.ts';
import { reservationExpiration, reservedCapacityType } from './reservations/capacitytype.ts';
import { Reservations } from './reservations/reservations.ts';
import { SecurityGroups } from './securitygroups.ts';
import { SpotRisk, spotRiskKeeper } from './spot-risk/spot-risk.ts';
import { spotRiskWatch } from './spot-risk/watch.ts';
import { SsmParameters } from './ssm.ts';
import { failedStart } from './start/start-remedies.ts';
import { Subnets } from './subnets/subnets.ts';
import { ClusterVersion, versionController } from './version.ts';
import { zonalShiftController, zonalShifts } from './zonalshift/controller.ts';
import { noShifts, type ZonalShifts } from './zonalshift/zonalshift.ts';

/** Dependencies of every part. */
interface Context extends Omit<AwsOptions, 'metrics'> {
  readonly clients: Clients;
  readonly metrics: AwsMetrics;
  readonly clusterUid: string | undefined;
}

/** Parts that are constructed before the cluster is known. */
interface Parts extends Offers, Selections, Launched {
  readonly version: ClusterVersion;
  readonly cidr: ClusterCidr;
  readonly shifts: ZonalShifts | undefined;
  readonly types: InstanceTypes;
}

/**
 * Constructs the provider with the given clients.
 * @throws Error if the endpoint or version of the cluster, or the instance types, cannot be discovered
 */
export async function assemble(options: AwsOptions, clients: Clients): Promise<AwsProvider> {
  const { settings, clock, log } = options;
  const metrics = awsMetrics(options.metrics, typesInUse(options.informers));
  const clusterUid = await readClusterUid(options.client, log);
  const context: Context = { ...options, clients, metrics, clusterUid };
  const version = clusterVersion(context);
  const cidr = new ClusterCidr(clients.eks, settings.clusterName, log);
  const shifts = settings.enableZonalShift ? await zonalShifts(options, clients) : undefined;
  const offers = wireOffers(context);
  const selections = wireSelections(context, version);
  const types = wireInstanceTypes(context, offers, shifts);
  const parts = { version, cidr, shifts, types, ...offers, ...selections, ...wireInstances(context, shifts) };
  const facts = { region: clients.region, clusterName: settings.clusterName };
  const [cluster] = await Promise.all([
    findCluster(context).catch(failedStart('failed detecting cluster endpoint', facts)),
    version.refresh(),
    types.refresh(),
    offers.priceBook.poll(),
  ]);

  const provider = wireProvider(context, parts, cluster);
  const verdicts = new ValidationCache(clock);
  const steps = nodeClassSteps(context, parts, { cluster, verdicts });
  const report: AwsProvider['offerings'] = () => offeringsReport(options.informers, types, offers.spotRisk);
  const keepers = [spotRiskKeeper(options, offers.spotRisk), capacityKeeper(options, types.capacities)];
  const refreshers = [...offeringControllers(context, parts, { provider, report }), ...refreshControllers(parts)];
  const controllers: AwsProvider['controllers'] = (interrupted) => [
    nodeClasses(context, parts, { steps, verdicts }),
    nodeClassHash(options.client, options.informers, cluster.caBundle ?? ''),
    ...instanceControllers(context, parts, provider),
    ...refreshers,
    launchTemplatesController(parts.templates),
    ...noticeControllers(context, parts, interrupted),
    ...reservationControllers(context, parts, provider),
    ...(offers.spotRisk.isOn ? [spotRiskWatch(offers.spotRisk, options.informers, clock)] : []),
    ...keepers.filter((keeper) => keeper !== undefined),
  ];
  return {
    provider: measuredProvider(provider, context.metrics),
    // the other controllers write to Kubernetes or AWS, or receive notices for the operator that acts
    controllers: settings.mode === 'observe' ? () => refreshers : controllers,
    offerings: report,
  };
}

const clusterVersion = ({ settings, clients, kubernetesVersion, log }: Context): ClusterVersion =>
  new ClusterVersion({
    eks: clients.eks,
    clusterName: settings.clusterName,
    eksControlPlane: settings.eksControlPlane,
    apiServerVersion: kubernetesVersion,
    log,
  });

const findCluster = ({ settings, clients, client, clusterUid, apiServerCa, log }: Context): Promise<ClusterFacts> =>
  discoverCluster({
    eks: clients.eks,
    client,
    log,
    clusterName: settings.clusterName,
    clusterUid,
    clusterEndpoint: settings.clusterEndpoint,
    caBundle: settings.clusterCaBundle || apiServerCa,
  });

/** State of offerings: prices, unavailable offerings, reservations. */
interface Offers {
  readonly unavailable: UnavailableOfferings;
  readonly spotRisk: SpotRisk;
  readonly pricing: Pricing;
  readonly priceBook: PriceBookFile;
  readonly reservations: Reservations;
  readonly placementGroups: PlacementGroups;
}

function wireOffers({ settings, clients, clock, log }: Context): Offers {
  const { ec2, region } = clients;
  return {
    unavailable: new UnavailableOfferings(clock, log),
    // Packing compatible with Karpenter implies launches compatible with Karpenter.
    spotRisk: new SpotRisk(packingPolicy(settings.packing).expectsCosts ? settings.spotRisk : 0, clock),
    pricing: new Pricing({ ec2, pricing: clients.pricing, region, isolatedVpc: settings.isolatedVpc, clock, log }),
    priceBook: new PriceBookFile({ path: settings.priceBook, region, clock, log }),
    reservations: new Reservations(ec2, clock, log),
    placementGroups: new PlacementGroups(ec2, clock),
  };
}

/** Resources that the selectors of a NodeClass find: network, identity and images. */
interface Selections {
  readonly parameters: SsmParameters;
  readonly subnets: Subnets;
  readonly securityGroups: SecurityGroups;
  readonly profiles: InstanceProfiles;
  readonly amis: Amis;
}

function wireSelections({ settings, clients, clusterUid, clock, log }: Context, version: ClusterVersion): Selections {
  const { ec2 } = clients;
  const parameters = new SsmParameters(clients.ssm, clock, log);
  return {
    parameters,
    subnets: new Subnets(ec2, clock, settings.subnetRefreshIntervalMs),
    securityGroups: new SecurityGroups(ec2, clock),
    profiles: new InstanceProfiles(clients.iam, clock, clusterUid),
    amis: new Amis({
      ec2,
      parameters,
      clusterVersion: () => version.current,
      clock,
      log,
      refreshMs: settings.amiRefreshIntervalMs,
    }),
  };
}

function wireInstanceTypes(
  { settings, clients, informers, metrics, clock, log }: Context,
  { pricing, priceBook, unavailable, spotRisk, reservations, placementGroups }: Offers,
  shifts: ZonalShifts | undefined,
): InstanceTypes {
  return new InstanceTypes({
    ec2: clients.ec2,
    region: clients.region,
    memoryOverheadPercent: settings.vmMemoryOverheadPercent,
    reservedEnis: settings.reservedEnis,
    // Packing compatible with Karpenter implies prices compatible with Karpenter.
    cpuUtilization: packingPolicy(settings.packing).expectsCosts ? settings.expectedCpuUtilization : 0,
    reservedCapacity: settings.featureGates.reservedCapacity,
    nodeClassCel: settings.awsFeatureGates.nodeClassCel,
    pricing,
    priceBook,
    unavailable,
    spotRisk,
    reservations,
    placementGroups,
    shifts: shifts ?? noShifts,
    overlayPrices: settings.featureGates.nodeOverlay ? new OverlayPrices(informers, clock) : undefined,
    metrics,
    clock,
    log,
  });
}

/** Resources that launches create in EC2. */
interface Launched {
  readonly templates: LaunchTemplates;
  readonly instances: Instances;
}

function wireInstances(
  { settings, clients: { ec2 }, clusterUid, clock, log, metrics }: Context,
  shifts: ZonalShifts | undefined,
): Launched {
  const { clusterName } = settings;
  const { reservedCapacity } = settings.featureGates;
  return {
    templates: new LaunchTemplates({ ec2, clusterName, clusterUid, clock, log, metrics }),
    instances: new Instances({
      ec2,
      clusterName,
      clusterUid,
      reservedCapacity,
      shifts: shifts ?? noShifts,
      clock,
      metrics,
    }),
  };
}

function wireProvider(context: Context, parts: Parts, cluster: ClusterFacts): Ec2Provider {
  const { settings, clients, informers, events, clock, log, metrics, traces } = context;
  const { types, instances, reservations, placementGroups, priceBook, subnets } = parts;
  const launcher = new Launcher({
    pressure: context.pressure,
    cluster,
    cidr: parts.cidr,
    region: clients.region,
    reservedCapacity: settings.featureGates.reservedCapacity,
    reservedOf: (nodeClass, name) => types.reservedFor(nodeClass, name),
    minValuesPolicy: settings.minValuesPolicy,
    subnets,
    templates: parts.templates,
    fleets: new Fleets({ ec2: clients.ec2, clock, log, metrics, traces }),
    placementGroups,
    reservations,
    unavailable: parts.unavailable,
    spotRisk: parts.spotRisk,
    events,
    metrics,
    clock,
    log,
  });
  return new Ec2Provider({
    cluster,
    informers,
    events,
    clock,
    types,
    instances,
    launcher,
    reservations,
    placementGroups,
    priceBook,
    subnets,
    staticDrivers: {
      nvidia: settings.awsFeatureGates.draNvidiaGpu ?? false,
      efa: settings.awsFeatureGates.draEfa ?? false,
      neuron: settings.awsFeatureGates.draNeuron ?? false,
    },
  });
}

const scopeOf = ({ settings: { clusterName: cluster }, clients: { region }, clusterUid }: Context): Scope => ({
  region,
  cluster,
  clusterUid,
});

/** Returns the steps of the NodeClass controller, in order. */
function nodeClassSteps(
  context: Context,
  parts: Parts,
  { cluster, verdicts }: { readonly cluster: ClusterFacts; readonly verdicts: ValidationCache },
): readonly NodeClassStep[] {
  const { settings, clients, informers, clock } = context;
  const { types, templates, placementGroups, cidr } = parts;
  const { reservedCapacity } = settings.featureGates;
  const tools = stepTools(() => clock.now(), reservedCapacity);
  return [
    fieldsStep(tools),
    amiStep(tools, parts.amis, clients.region),
    ...(reservedCapacity ? [reservationStep(tools, parts.reservations, clock)] : []),
    placementGroupStep(tools, placementGroups),
    subnetStep(tools, parts.subnets),
    securityGroupStep(tools, parts.securityGroups),
    instanceProfileStep(tools, parts.profiles, scopeOf(context), clock),
    validationStep(
      tools,
      {
        ec2: clients.ec2Once,
        informers,
        types,
        templates,
        placementGroups,
        cluster,
        cidr,
        region: clients.region,
        reservedCapacity,
        nodeClassCel: settings.awsFeatureGates.nodeClassCel,
        disableDryRun: settings.disableDryRun,
        clock,
      },
      verdicts,
    ),
  ];
}

function nodeClasses(
  context: Context,
  { profiles, templates, subnets }: Parts,
  { steps, verdicts }: { readonly steps: readonly NodeClassStep[]; readonly verdicts: ValidationCache },
): Controller {
  const { settings, client, informers, events } = context;
  return nodeClassController({
    client,
    events,
    steps,
    subnets,
    conditions: settings.featureGates.reservedCapacity ? EC2NODECLASS_RESERVED_CONDITIONS : EC2NODECLASS_CONDITIONS,
    terminate: (nodeClass) =>
      terminate(nodeClass, {
        client,
        informers,
        events,
        profiles,
        templates,
        scope: scopeOf(context),
        isolatedVpc: settings.isolatedVpc,
        forget: ({ metadata }) => verdicts.forget(metadata.name),
      }),
  });
}

function instanceControllers(context: Context, parts: Parts, provider: Ec2Provider): readonly Controller[] {
  const { settings, client, informers, events, metrics, clusterUid, clock } = context;
  const { instances, profiles } = parts;
  const report = new CollectionReport({ events, metrics, clock, about: clusterObject(clusterUid) });
  const common = { client, informers, instances, clock, report };
  return [
    tagging(client, instances, { clusterName: settings.clusterName, clock }),
    instanceGarbageCollection({ ...common, isHeld: (id) => provider.isHeld(id) }),
    ...(settings.isolatedVpc
      ? []
      : [instanceProfileGarbageCollection({ ...common, profiles, scope: scopeOf(context) })]),
  ];
}

function offeringControllers(
  { settings, informers, events, metrics }: Context,
  { types, shifts, pricing }: Parts,
  { provider, report }: { readonly provider: Ec2Provider; readonly report: AwsProvider['offerings'] },
): readonly Controller[] {
  return [
    instanceTypesController(types),
    capacityDiscovery(informers, types),
    offeringMetrics({ informers, provider, metrics, pricing, withReserved: settings.featureGates.reservedCapacity }),
    offeringsWatch({ informers, events, report, version: () => types.offeringsVersion }),
    ...(shifts === undefined ? [] : [zonalShiftController(shifts, informers, events)]),
  ];
}

/** Returns the controllers that refresh cached responses of AWS. */
const refreshControllers = ({ pricing, priceBook, parameters, amis, version }: Parts): readonly Controller[] => [
  pricingController(pricing),
  priceBookController(priceBook),
  ssmInvalidation(parameters, amis),
  versionController(version),
];

/** Returns the controllers that handle interruptions and the status of running instances. */
function noticeControllers(
  context: Context,
  parts: Parts,
  interrupted: Interrupted | undefined,
): readonly Controller[] {
  const { settings, clients, client, informers, events, clock, metrics } = context;
  const { unavailable, spotRisk, reservations } = parts;
  const plansEvents = settings.scheduledEvents === 'drift';
  const acting = {
    client,
    informers,
    events,
    clock,
    metrics,
    unavailable,
    spotRisk,
    reservations,
    interrupted,
    plansEvents,
  };
  return [
    instanceStatus({ ec2: clients.ec2, ...acting }),
    ...(settings.interruptionQueue === ''
      ? []
      : [interruption({ sqs: clients.sqs, queueName: settings.interruptionQueue, ...acting })]),
  ];
}

/** Without the feature gate, launches use open reservations as EC2 selects them. */
function reservationControllers(
  { settings, clients, client, informers, events, clock, metrics }: Context,
  { reservations, instances }: Parts,
  provider: Ec2Provider,
): readonly Controller[] {
  if (!settings.featureGates.reservedCapacity) return [];
  const instanceTypes: Ec2Provider['instanceTypes'] = (nodePool) => provider.instanceTypes(nodePool);
  return [
    reservationExpiration(client, informers, clock),
    reservedCapacityType(client, informers, instances),
    reservationCalendar({ ec2: clients.ec2, informers, reservations, instanceTypes, events, metrics, clock }),
  ];
}
