/** Instant fleets. Overrides are tried in the order of the allocation strategy until the target is reached. */
import type {
  CreateFleetError,
  CreateFleetInstance,
  CreateFleetRequest,
  CreateFleetResult,
  FleetLaunchTemplateOverrides,
  FleetLaunchTemplateOverridesRequest,
  LaunchTemplateAndOverridesResponse,
} from '@aws-sdk/client-ec2';
import { poolDepth } from '../catalogue/pool-depth.ts';
import { matchesPool } from '../faults.ts';
import type { Account } from '../state/account.ts';
import type { StoredTemplate } from '../state/stored.ts';
import type { Tags } from '../types.ts';
import { AwsError, missingParameter } from '../wire/error.ts';
import { refuseDryRun } from './dry-run.ts';
import { launchInstances } from './launch.ts';
import { type LaunchPlan, type LaunchRequest, planLaunch } from './plan.ts';
import { specifiedTags } from './tags.ts';
import { findTemplate } from './templates.ts';

type Market = LaunchRequest['market'];

interface Candidate {
  readonly template: StoredTemplate;
  readonly override: FleetLaunchTemplateOverridesRequest;
  /** Position in the request, which decides between equal candidates. */
  readonly position: number;
}

interface Priced extends Candidate {
  readonly plan: LaunchPlan;
  /** Price per unit of capacity, in USD per hour. */
  readonly usdPerUnit: number;
  /** Spare capacity of this pool, from 0 to 1. */
  readonly depth: number;
}

/** @throws AwsError if EC2 would refuse the whole request; shortages are returned as `Errors` */
export function createFleet(account: Account, input: CreateFleetRequest): CreateFleetResult {
  checkRequest(input);
  const candidates = listCandidates(account, input);
  const tags = (type: string): Tags => specifiedTags(input.TagSpecifications, type);
  for (const type of ['fleet', 'instance', 'volume']) tags(type);
  refuseDryRun(input);

  const fleetId = `fleet-${account.random.uuid()}`;
  const instances: CreateFleetInstance[] = [];
  const errors: CreateFleetError[] = [];
  for (const { market, capacity } of targets(input)) {
    if (capacity <= 0) continue;
    const order = arrange(account, candidates, input, market, fleetId, errors);
    fulfil(account, order, { market, capacity, strategy: strategyOf(input, market) }, instances, errors);
  }
  return { FleetId: fleetId, Instances: instances, Errors: errors };
}

function checkRequest(input: CreateFleetRequest): void {
  if (input.Type !== 'instant') {
    throw new AwsError(
      'UnsupportedOperation',
      `The local EC2 supports only fleets of type instant, not ${input.Type ?? 'maintain'}`,
    );
  }
  if (!input.LaunchTemplateConfigs?.length) throw missingParameter('LaunchTemplateConfigs');
  const total = input.TargetCapacitySpecification?.TotalTargetCapacity;
  if (total === undefined) throw missingParameter('TargetCapacitySpecification.TotalTargetCapacity');
  if (!Number.isInteger(total) || total < 1) {
    throw new AwsError(
      'InvalidParameterValue',
      `TotalTargetCapacity must be an integer greater than zero, not ${total}`,
    );
  }
  const unsupported = [
    input.SpotOptions?.MinTargetCapacity && 'SpotOptions.MinTargetCapacity',
    input.OnDemandOptions?.MinTargetCapacity && 'OnDemandOptions.MinTargetCapacity',
    input.LaunchTemplateConfigs.some((each) => each.Overrides?.some((override) => override.InstanceRequirements)) &&
      'Overrides.InstanceRequirements',
  ].find(Boolean);
  if (unsupported) throw new AwsError('UnsupportedOperation', `The local EC2 does not support ${unsupported}`);
}

function listCandidates(account: Account, input: CreateFleetRequest): Candidate[] {
  const configs = input.LaunchTemplateConfigs ?? [];
  const candidates = configs.flatMap(({ LaunchTemplateSpecification: reference, Overrides: overrides }) => {
    if (!reference) throw missingParameter('LaunchTemplateConfigs.LaunchTemplateSpecification');
    const template = findTemplate(account, reference);
    const each = overrides?.length ? overrides : [{}];
    return each.map((override) => ({ template, override }));
  });
  return candidates.map((candidate, position) => ({ ...candidate, position }));
}

function targets({ TargetCapacitySpecification: wanted }: CreateFleetRequest): { market: Market; capacity: number }[] {
  const onDemand = wanted?.OnDemandTargetCapacity ?? 0;
  const spot = wanted?.SpotTargetCapacity ?? 0;
  const rest = (wanted?.TotalTargetCapacity ?? 0) - onDemand - spot;
  const fallback = marketOf(wanted?.DefaultTargetCapacityType);
  return [
    { market: 'on-demand' as Market, capacity: onDemand },
    { market: 'spot' as Market, capacity: spot },
    { market: fallback, capacity: rest },
  ];
}

function marketOf(type: string | undefined): Market {
  if (type === 'spot' || type === 'capacity-block') return type;
  return type === 'reserved-capacity' ? 'interruptible-capacity-reservation' : 'on-demand';
}

const strategyOf = (input: CreateFleetRequest, market: Market): string =>
  market === 'spot'
    ? (input.SpotOptions?.AllocationStrategy ?? 'lowest-price')
    : (input.OnDemandOptions?.AllocationStrategy ?? 'lowest-price');

/**
 * Returns the overrides that can be launched, in order of preference. Adds the errors of other overrides to `errors`.
 */
function arrange(
  account: Account,
  candidates: readonly Candidate[],
  input: CreateFleetRequest,
  market: Market,
  fleetId: string,
  errors: CreateFleetError[],
): Priced[] {
  const seed = account.options.randomSeed ?? 1;
  const priced = candidates.flatMap((candidate): Priced[] => {
    try {
      const plan = planLaunch(account, launchRequest(candidate, input, market, fleetId));
      const usdPerUnit = plan.usdPerHour / (candidate.override.WeightedCapacity ?? 1);
      return [{ ...candidate, plan, usdPerUnit, depth: poolDepth(seed, plan.instanceType, plan.subnet.zone) }];
    } catch (error) {
      errors.push(fleetError(candidate, market, error));
      return [];
    }
  });
  const compare = ORDERS[strategyOf(input, market)];
  if (!compare) throw new AwsError('InvalidParameterValue', `Unknown allocation strategy for ${market} capacity`);
  const rank = ({ plan }: Priced): number => {
    const pool = { instanceType: plan.instanceType, zone: plan.subnet.zone, capacityType: plan.capacityType };
    return account.preferred.some((match) => matchesPool(match, pool)) ? 0 : 1;
  };
  return priced.sort(
    (left, right) => rank(left) - rank(right) || compare(left, right) || left.position - right.position,
  );
}

type Order = (left: Priced, right: Priced) => number;
const byPrice: Order = (left, right) => left.usdPerUnit - right.usdPerUnit;
const byDepth: Order = (left, right) => right.depth - left.depth;
const byPriority: Order = (left, right) =>
  (left.override.Priority ?? Number.POSITIVE_INFINITY) - (right.override.Priority ?? Number.POSITIVE_INFINITY) || 0;
/**
 * Returns the price with a surcharge of up to a fifth for little spare capacity. Cheap pools win unless they have
 * little capacity.
 */
const riskPrice = ({ usdPerUnit, depth }: Priced): number => usdPerUnit * (1 + 0.2 * (1 - depth));

const ORDERS: Readonly<Record<string, Order>> = {
  'lowest-price': byPrice,
  diversified: byPrice,
  prioritized: (left, right) => byPriority(left, right) || byPrice(left, right),
  'capacity-optimized': (left, right) => byDepth(left, right) || byPrice(left, right),
  'capacity-optimized-prioritized': (left, right) => byPriority(left, right) || byDepth(left, right),
  'price-capacity-optimized': (left, right) => riskPrice(left) - riskPrice(right),
};

interface Target {
  readonly market: Market;
  readonly capacity: number;
  readonly strategy: string;
}

/** Launches from the best pool until it has no capacity, then from the next. `diversified` alternates between pools. */
function fulfil(
  account: Account,
  order: readonly Priced[],
  { market, capacity, strategy }: Target,
  instances: CreateFleetInstance[],
  errors: CreateFleetError[],
): void {
  const launched = new Map<Priced, string[]>(order.map((candidate) => [candidate, []]));
  const perTurn = strategy === 'diversified' ? 1 : Number.POSITIVE_INFINITY;
  let missing = capacity;
  let open = order;
  while (missing > 0 && open.length > 0) {
    const exhausted = new Set<Priced>();
    for (const candidate of open) {
      const weight = candidate.override.WeightedCapacity ?? 1;
      const wanted = Math.min(perTurn, Math.ceil(Math.max(0, missing) / weight));
      const { ids, error } = launchUpTo(account, candidate.plan, wanted);
      launched.get(candidate)?.push(...ids);
      missing -= ids.length * weight;
      if (!error) continue;
      errors.push(fleetError(candidate, market, error));
      exhausted.add(candidate);
    }
    open = open.filter((candidate) => !exhausted.has(candidate));
  }
  for (const [candidate, ids] of launched) if (ids.length > 0) instances.push(fleetInstance(candidate, market, ids));
}

/** Launches instances until the count is reached or the pool refuses a launch. */
function launchUpTo(account: Account, plan: LaunchPlan, count: number): { ids: string[]; error?: unknown } {
  const ids: string[] = [];
  const reservationId = account.random.id('r');
  try {
    while (ids.length < count) ids.push(launchInstances(account, plan, reservationId).id);
    return { ids };
  } catch (error) {
    return { ids, error };
  }
}

function launchRequest(
  { template, override }: Candidate,
  input: CreateFleetRequest,
  market: Market,
  fleetId: string,
): LaunchRequest {
  const { data } = template;
  const blocks = override.BlockDeviceMappings;
  return {
    instanceType: override.InstanceType,
    subnetId: override.SubnetId,
    zone: override.AvailabilityZone,
    imageId: override.ImageId,
    data: {
      ...data,
      ...(override.Placement ? { Placement: { ...data.Placement, ...override.Placement } } : {}),
      ...(blocks ? { BlockDeviceMappings: blocks as NonNullable<typeof data.BlockDeviceMappings> } : {}),
    },
    market,
    template,
    tags: (type) => ({
      ...specifiedTags(data.TagSpecifications, type),
      ...specifiedTags(input.TagSpecifications, type),
    }),
    fleetId,
  };
}

const lifecycleOf = (market: Market): NonNullable<CreateFleetInstance['Lifecycle']> =>
  market as NonNullable<CreateFleetInstance['Lifecycle']>;

function response({ template, override }: Candidate): LaunchTemplateAndOverridesResponse {
  return {
    LaunchTemplateSpecification: {
      LaunchTemplateId: template.summary.LaunchTemplateId,
      Version: String(template.summary.LatestVersionNumber),
    },
    Overrides: override as FleetLaunchTemplateOverrides,
  };
}

const fleetInstance = (candidate: Priced, market: Market, ids: string[]): CreateFleetInstance => {
  const answer = response(candidate);
  return {
    LaunchTemplateAndOverrides: {
      ...answer,
      Overrides: {
        ...answer.Overrides,
        AvailabilityZone: candidate.plan.subnet.zone,
        SubnetId: candidate.plan.subnet.id,
      },
    },
    Lifecycle: lifecycleOf(market),
    InstanceIds: ids,
    InstanceType: candidate.plan.info.InstanceType,
    ...(candidate.plan.image.platform === 'windows' ? { Platform: 'Windows' as const } : {}),
  };
};

function fleetError(candidate: Candidate, market: Market, error: unknown): CreateFleetError {
  if (!(error instanceof AwsError)) throw error;
  return {
    LaunchTemplateAndOverrides: response(candidate),
    Lifecycle: lifecycleOf(market),
    ErrorCode: error.code,
    ErrorMessage: error.message,
  };
}
