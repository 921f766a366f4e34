/**
 * Report of the offerings of NodePools that cannot be launched now, with the reason and the end. `/debug/offerings`
 * serves it.
 */
import { setImmediate } from 'node:timers/promises';
import {
  CAPACITY_RESERVATION_ID_LABEL,
  CAPACITY_TYPE_LABEL,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  getCondition,
  isTrue,
  NODE_POOL,
  type NodePool,
  READY,
  ZONE_LABEL,
} from '#api/objects';
import { unreadyText } from '#api/validation';
import {
  type InstanceType,
  LOOSE,
  offeringOf,
  type Requirements,
  requirementsOf,
  satisfiesMinValues,
} from '#engine/model';
import type { Informers } from '#kube/client';
import { defined, messageOf } from '#lib';
import { poolRequirements } from '../nodepools.ts';
import type { SpotPoolView, SpotRisk } from '../spot-risk/spot-risk.ts';
import { isLasting, type Obstacle, type ObstacleCode, type OfferingEntry, type Surveyed } from './offerings.ts';

/** An unavailable offering that the NodePool allows. This format is public. */
export interface OutOffering {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly code: ObstacleCode;
  /** Error code of AWS, if there is one. */
  readonly reason?: string;
  /** RFC 3339. Time at which this offering counts as available again. Undefined if it is unknown. */
  readonly until?: string;
  /** ID of the capacity reservation. */
  readonly reservation?: string;
}

export interface PoolOfferings {
  readonly nodePool: string;
  readonly nodeClass: string;
  /** Number of allowed offerings that are available now, regardless of the NodePool's readiness. */
  readonly available: number;
  readonly out: readonly OutOffering[];
  /** Keys with `minValues` that the available types do not satisfy, although all types would. */
  readonly minValuesMissed?: readonly string[];
  /** Allowed spot pools with recent interruptions or shortages, highest risk first. Undefined if there are none. */
  readonly spotRisk?: readonly SpotPoolView[];
  /** Error because of which the offerings are unknown. */
  readonly problem?: string;
  /** Reason why the NodePool is not Ready, so that no nodes are launched for it. */
  readonly notReady?: string;
}

function outOffering(instanceType: string, { offering }: OfferingEntry, obstacle: Obstacle): OutOffering {
  const requirements = requirementsOf(offering);
  const { code, reason, untilMs } = obstacle;
  const reservation = requirements.get(CAPACITY_RESERVATION_ID_LABEL);
  return {
    instanceType,
    zone: requirements.get(ZONE_LABEL).any(),
    capacityType: requirements.get(CAPACITY_TYPE_LABEL).any(),
    code,
    ...defined({ reason }),
    ...(untilMs === undefined ? {} : { until: new Date(untilMs).toISOString() }),
    ...(reservation.values.size === 0 ? {} : { reservation: reservation.any() }),
  };
}

/** Returns the offerings, sorted by the name of the type. Permanently unavailable offerings are left out. */
function offeringsOf(
  surveyed: readonly Surveyed[],
  requirements: Requirements,
): Pick<PoolOfferings, 'available' | 'out' | 'minValuesMissed'> {
  let available = 0;
  const out: OutOffering[] = [];
  const [offered, left]: [InstanceType[], InstanceType[]] = [[], []];
  for (const { type, entries } of surveyed) {
    if (!requirements.compatible(requirementsOf(type), LOOSE)) continue;
    const allowed = entries.filter(({ offering }) => requirements.compatible(requirementsOf(offering), LOOSE));
    const passing = allowed.flatMap((entry) =>
      entry.obstacle === undefined || isLasting(entry.obstacle) ? [] : [outOffering(type.name, entry, entry.obstacle)],
    );
    const free = allowed.filter(({ obstacle }) => obstacle === undefined).length;
    available += free;
    out.push(...passing);
    if (free > 0) left.push(type);
    if (free + passing.length > 0) offered.push(type);
  }
  const missed = missedKeys(left, requirements).filter((key) => !missedKeys(offered, requirements).includes(key));
  return {
    available,
    out: out.sort((a, b) => (a.instanceType < b.instanceType ? -1 : 1)),
    ...(missed.length === 0 ? {} : { minValuesMissed: missed }),
  };
}

const missedKeys = (types: readonly InstanceType[], requirements: Requirements): readonly string[] =>
  satisfiesMinValues(types, requirements).unsatisfied.map(([key]) => key);

/** @throws Error if the instance types of the NodeClass cannot be listed */
type Survey = (nodeClass: EC2NodeClass) => Promise<readonly Surveyed[]>;

/** Returns the recorded spot pools that the NodePool allows, regardless of their availability. */
function allowedPools(
  surveyed: readonly Surveyed[],
  requirements: Requirements,
  views: readonly SpotPoolView[],
): Pick<PoolOfferings, 'spotRisk'> {
  if (views.length === 0) return {};
  const byName = new Map(surveyed.map(({ type }) => [type.name, type]));
  const spotRisk = views.filter(({ instanceType, zone }) => {
    const type = byName.get(instanceType);
    if (type === undefined || !requirements.compatible(requirementsOf(type), LOOSE)) return false;
    const offering = offeringOf(type, { zone, capacityType: 'spot' });
    return offering !== undefined && requirements.compatible(requirementsOf(offering), LOOSE);
  });
  return spotRisk.length === 0 ? {} : { spotRisk };
}

interface Sources {
  readonly informers: Informers;
  readonly survey: Survey;
  readonly views: readonly SpotPoolView[];
}

async function poolOfferings(nodePool: NodePool, { informers, survey, views }: Sources): Promise<PoolOfferings> {
  const { name } = nodePool.spec.template.spec.nodeClassRef;
  const nodeClass = informers.store(EC2_NODE_CLASS).get({ name });
  const isUnready = getCondition(nodePool, READY) !== undefined && !isTrue(nodePool, READY);
  const common = {
    nodePool: nodePool.metadata.name,
    nodeClass: name,
    ...(isUnready && { notReady: unreadyText(nodePool, nodeClass) }),
  };
  if (nodeClass === undefined) return { ...common, available: 0, out: [], problem: 'the NodeClass does not exist' };
  try {
    const surveyed = await survey(nodeClass);
    const requirements = poolRequirements(nodePool);
    return { ...common, ...offeringsOf(surveyed, requirements), ...allowedPools(surveyed, requirements, views) };
  } catch (error) {
    return { ...common, available: 0, out: [], problem: messageOf(error) };
  }
}

/** Returns one entry per NodePool, sorted by name. Other work can run after each entry. */
export async function offeringsReport(
  informers: Informers,
  types: { readonly survey: Survey },
  spotRisk?: Pick<SpotRisk, 'views'>,
): Promise<readonly PoolOfferings[]> {
  const surveys = new Map<string, Promise<readonly Surveyed[]>>();
  const survey: Survey = (nodeClass) => {
    const { name } = nodeClass.metadata;
    const known = surveys.get(name) ?? types.survey(nodeClass);
    surveys.set(name, known);
    return known;
  };
  const views = spotRisk?.views() ?? [];
  const pools = informers.store(NODE_POOL).list();
  const report: PoolOfferings[] = [];
  for (const pool of pools.toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))) {
    report.push(await poolOfferings(pool, { informers, survey, views }));
    await setImmediate();
  }
  return report;
}
