/** Puts the provider's parts together. */
import { EC2NODECLASS_CONDITIONS, EC2NODECLASS_RESERVED_CONDITIONS } from '../api/conditions.ts';
import type { Controller } from '../kube/reconciler.ts';
import { Amis } from './amis/amis.ts';
import type { Clients } from './clients.ts';
import { ClusterCidr, clusterArn, discoverCluster } from './cluster.ts';
import { Fleets } from './fleet/batch.ts';
import { Launcher } from './fleet/launch.ts';
import { instanceProfileGarbageCollection } from './instanceprofiles/garbagecollection.ts';
import { InstanceProfiles } from './instanceprofiles/instanceprofiles.ts';
import { instanceGarbageCollection } from './instances/garbagecollection.ts';
import { Instances } from './instances/instances.ts';
import { tagging } from './instances/tagging.ts';
import { InstanceTypes, instanceTypesController } from './instancetypes/instancetypes.ts';
import { memoryDiscovery } from './instancetypes/memorydiscovery.ts';
import { interruption } from './interruption/controller.ts';
import { instanceStatus } from './interruption/instancestatus.ts';
import { LaunchTemplates, launchTemplatesController } from './launchtemplates/launchtemplates.ts';
import { measured } from './measured.ts';
import { awsMetrics } from './metrics.ts';
import { amiStep, placementGroupStep, reservationStep, securityGroupStep, subnetStep } from './nodeclass/discovery.ts';
import { fieldsStep } from './nodeclass/fields.ts';
import { nodeClassHash } from './nodeclass/hash.ts';
import { instanceProfileStep } from './nodeclass/instanceprofile.ts';
import { nodeClassController } from './nodeclass/nodeclass.ts';
import { stepTools } from './nodeclass/step.ts';
import { terminate } from './nodeclass/termination.ts';
import { ValidationCache, validationStep } from './nodeclass/validation.ts';
import { offeringMetrics } from './offerings/metrics.ts';
import { offeringsReport } from './offerings/report.ts';
import { UnavailableOfferings } from './offerings/unavailable.ts';
import { offeringsWatch } from './offerings/watch.ts';
import type { AwsOptions, AwsProvider } from './options.ts';
import { PlacementGroups } from './placementgroups/placementgroups.ts';
import { OverlayPrices } from './pricing/overlay.ts';
import { Pricing, pricingController } from './pricing/pricing.ts';
import { Ec2Provider } from './provider.ts';
import { reservedCapacityType } from './reservations/capacitytype.ts';
import { reservationExpiration } from './reservations/expiration.ts';
import { Reservations } from './reservations/reservations.ts';
import { SecurityGroups } from './securitygroups/securitygroups.ts';
import { ssmInvalidation } from './ssm/invalidation.ts';
import { Parameters } from './ssm/ssm.ts';
import { Subnets } from './subnets/subnets.ts';
import { ClusterVersion, versionController } from './version/version.ts';
import { shiftSource } from './zonalshift/client.ts';
import { zonalShiftController } from './zonalshift/controller.ts';
import { noShifts, ZonalShifts } from './zonalshift/zonalshift.ts';

/**
 * The provider on given clients.
 * @throws Error when the cluster's endpoint or version, or the instance types, cannot be found out
 */
export async function assemble(options: AwsOptions, clients: Clients): Promise<AwsProvider> {
  const { settings, client, informers, events, clock, log } = options;
  const metrics = awsMetrics(options.metrics);
  const { ec2, region } = clients;
  const version = new ClusterVersion({
    eks: clients.eks,
    clusterName: settings.clusterName,
    eksControlPlane: settings.eksControlPlane,
    apiServerVersion: options.kubernetesVersion,
    log,
  });
  const { reservedCapacity } = settings.featureGates;
  const { clusterName } = settings;
  const scope = { region, cluster: clusterName };

  const cidr = new ClusterCidr(clients.eks, clusterName, log);
  const shifts = settings.enableZonalShift ? await zonalShifts(options, clients) : undefined;
  const unavailable = new UnavailableOfferings(clock, log);
  const pricing = new Pricing({
    ec2,
    pricing: clients.pricing,
    region,
    isolatedVpc: settings.isolatedVpc,
    clock,
    log,
  });
  const reservations = new Reservations(ec2, clock, log);
  const placementGroups = new PlacementGroups(ec2, clock);
  const parameters = new Parameters(clients.ssm, clock, log);
  const subnets = new Subnets(ec2, clock, settings.subnetRefreshIntervalMs);
  const securityGroups = new SecurityGroups(ec2, clock);
  const profiles = new InstanceProfiles(clients.iam, clock);
  const amis = new Amis({
    ec2,
    parameters,
    clusterVersion: () => version.current,
    clock,
    log,
    refreshMs: settings.amiRefreshIntervalMs,
  });
  const types = new InstanceTypes({
    ec2,
    region,
    memoryOverheadPercent: settings.vmMemoryOverheadPercent,
    reservedEnis: settings.reservedEnis,
    reservedCapacity,
    nodeClassCel: settings.awsFeatureGates.nodeClassCel,
    pricing,
    unavailable,
    reservations,
    placementGroups,
    shifts: shifts ?? noShifts,
    overlayPrices: settings.featureGates.nodeOverlay ? new OverlayPrices(informers, clock) : undefined,
    metrics,
    clock,
    log,
  });
  const templates = new LaunchTemplates({ ec2, clusterName, clock, log, metrics });
  const instances = new Instances({ ec2, clusterName, reservedCapacity, shifts: shifts ?? noShifts, clock, metrics });
  const [cluster] = await Promise.all([
    discoverCluster({
      eks: clients.eks,
      client,
      log,
      clusterName: settings.clusterName,
      clusterEndpoint: settings.clusterEndpoint,
      caBundle: settings.clusterCaBundle || options.apiServerCa,
    }),
    version.refresh(),
    types.refresh(),
  ]);
  const launcher = new Launcher({
    cluster,
    cidr,
    region,
    reservedCapacity,
    reservedOf: (nodeClass, name) => types.reservedFor(nodeClass, name),
    minValuesPolicy: settings.minValuesPolicy,
    subnets,
    templates,
    fleets: new Fleets({ ec2, clock, log, metrics }),
    placementGroups,
    reservations,
    unavailable,
    events,
    metrics,
    clock,
    log,
  });
  const provider = new Ec2Provider({
    cluster,
    informers,
    events,
    clock,
    types,
    instances,
    launcher,
    reservations,
    placementGroups,
  });

  const tools = stepTools(() => clock.now(), reservedCapacity);
  const verdicts = new ValidationCache(clock);
  const steps = [
    fieldsStep(tools),
    amiStep(tools, amis),
    ...(reservedCapacity ? [reservationStep(tools, reservations, clock)] : []),
    placementGroupStep(tools, placementGroups),
    subnetStep(tools, subnets),
    securityGroupStep(tools, securityGroups),
    instanceProfileStep(tools, profiles, scope, clock),
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
        region,
        reservedCapacity,
        nodeClassCel: settings.awsFeatureGates.nodeClassCel,
        disableDryRun: settings.disableDryRun,
        clock,
      },
      verdicts,
    ),
  ];
  const report = () => offeringsReport(informers, types);
  const controllers = (): readonly Controller[] => [
    nodeClassController({
      client,
      steps,
      conditions: reservedCapacity ? EC2NODECLASS_RESERVED_CONDITIONS : EC2NODECLASS_CONDITIONS,
      terminate: (nodeClass) =>
        terminate(nodeClass, {
          client,
          informers,
          events,
          profiles,
          templates,
          scope,
          isolatedVpc: settings.isolatedVpc,
          forget: ({ metadata }) => verdicts.forget(metadata.name),
        }),
    }),
    nodeClassHash(client, informers, cluster.caBundle ?? ''),
    tagging(client, instances, { clusterName, clock }),
    instanceGarbageCollection({ client, informers, instances, clock, isHeld: (id) => provider.isHeld(id) }),
    ...(settings.isolatedVpc ? [] : [instanceProfileGarbageCollection(profiles, informers, scope)]),
    instanceTypesController(types),
    memoryDiscovery(informers, types),
    offeringMetrics(informers, provider, metrics, reservedCapacity),
    offeringsWatch({ informers, events, report, version: () => types.offeringsVersion }),
    ...(shifts === undefined ? [] : [zonalShiftController(shifts, informers, events)]),
    pricingController(pricing),
    ssmInvalidation(parameters, amis),
    versionController(version),
    launchTemplatesController(templates),
    ...(reservedCapacity
      ? [reservationExpiration(client, informers), reservedCapacityType(client, informers, instances)]
      : []),
    instanceStatus({ ec2, client, informers, events, clock, metrics, unavailable, reservations }),
    ...(settings.interruptionQueue === ''
      ? []
      : [
          interruption({
            sqs: clients.sqs,
            queueName: settings.interruptionQueue,
            client,
            informers,
            events,
            clock,
            metrics,
            unavailable,
            reservations,
          }),
        ]),
  ];
  return { provider: measured(provider, metrics), controllers, offerings: report };
}

/** @throws Error when the cluster is not registered for zonal shift: the setting would be without effect */
async function zonalShifts({ settings, clock }: AwsOptions, { eks, region }: Clients): Promise<ZonalShifts> {
  const { clusterName } = settings;
  try {
    const shifts = new ZonalShifts(shiftSource(eks, region), await clusterArn(eks, clusterName), clock);
    await shifts.poll();
    return shifts;
  } catch (error) {
    throw new Error(
      `--enable-zonal-shift is set, but zonal shifts of cluster "${clusterName}" cannot be read, ${(error as Error).message}`,
      { cause: error },
    );
  }
}
