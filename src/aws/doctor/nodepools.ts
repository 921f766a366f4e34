/** Checks of each NodePool: whether it is valid and ready, and whether instances can be launched for it. */

import { causesOf, EC2_NODE_CLASS, type EC2NodeClass, getCondition, type NodePool, READY } from '#api/objects';
import { nodePoolErrors } from '#api/validation';
import { compareQuantities } from '#api/values';
import type { Finding } from '#cloud';
import { LOOSE, requirementsOf, satisfiesMinValues } from '#engine/model';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { describeError } from '../errors.ts';
import { InstanceTypes } from '../instancetypes/instancetypes.ts';
import { awsMetrics } from '../metrics.ts';
import { poolRequirements } from '../nodepools.ts';
import type { Surveyed } from '../offerings/offerings.ts';
import { UnavailableOfferings } from '../offerings/unavailable.ts';
import { PlacementGroups } from '../placementgroups.ts';
import { Pricing } from '../pricing/pricing.ts';
import { Reservations } from '../reservations/reservations.ts';
import { noShifts } from '../zonalshift/zonalshift.ts';
import { fine, problem, warning } from './finding.ts';
import type { NodeClassChecks } from './nodeclasses.ts';

/** Returns the instance types of a NodeClass, with the obstacle that prevents the launch of each offering. */
export type Survey = (nodeClass: EC2NodeClass) => Promise<readonly Surveyed[]>;

/** Loads instance types and prices on the first call. */
export function surveyOf({ clients, clock }: Pick<NodeClassChecks, 'clients' | 'clock'>): Survey {
  const { ec2, pricing: api, region } = clients;
  const log = silent;
  const reservations = new Reservations(ec2, clock, log);
  const pricing = new Pricing({ ec2, pricing: api, region, isolatedVpc: false, clock, log });
  const types = new InstanceTypes({
    ec2,
    region,
    memoryOverheadPercent: 0,
    reservedEnis: 0,
    reservedCapacity: true,
    nodeClassCel: false,
    pricing,
    unavailable: new UnavailableOfferings(clock, log),
    reservations,
    placementGroups: new PlacementGroups(ec2, clock),
    shifts: noShifts,
    overlayPrices: undefined,
    metrics: awsMetrics(createMetrics()),
    clock,
    log,
  });
  let loaded: Promise<unknown> | undefined;
  return async (nodeClass) => {
    // If the Pricing API fails, the embedded prices are used.
    loaded ??= Promise.all([types.refresh(), pricing.updateSpot(), pricing.updateOnDemand().catch(() => undefined)]);
    await loaded;
    const selects = nodeClass.spec.capacityReservationSelectorTerms !== undefined;
    const capacityReservations = selects ? [...(await reservations.list(nodeClass))] : [];
    return types.survey({ ...nodeClass, status: { ...nodeClass.status, capacityReservations } });
  };
}

/** Returns a text about the first scheduled reservation that the NodePool can use, or undefined. */
export type Coming = (nodePool: NodePool, nodeClass: EC2NodeClass) => Promise<string | undefined>;

interface PoolChecks {
  /**
   * NodeClasses by name, with resolved resources as their status, or without a status if a subnet or an image is
   * missing.
   */
  readonly nodeClasses: ReadonlyMap<string, EC2NodeClass>;
  readonly survey: Survey;
  readonly coming: Coming;
}

export async function diagnoseNodePools(pools: readonly NodePool[], checks: PoolChecks): Promise<readonly Finding[]> {
  if (pools.length === 0)
    return [warning('NodePools', 'none found, so no nodes are launched', 'kubectl apply -f examples/nodepool.yaml')];
  const findings: Finding[] = [];
  // Sequential, because NodePools share the results of lookups.
  for (const pool of pools) findings.push(...(await checkNodePool(pool, checks)));
  return findings;
}

async function checkNodePool(pool: NodePool, { nodeClasses, survey, coming }: PoolChecks): Promise<readonly Finding[]> {
  const subject = `NodePool ${pool.metadata.name}`;
  const { group, kind, name } = pool.spec.template.spec.nodeClassRef;
  if (group !== EC2_NODE_CLASS.group || kind !== EC2_NODE_CLASS.kind)
    return [
      warning(
        subject,
        `refers to ${kind}.${group}, which this operator does not support`,
        'run a controller that supports it',
      ),
    ];
  const nodeClass = nodeClasses.get(name);
  if (nodeClass === undefined)
    return [
      problem(
        subject,
        `its EC2NodeClass ${name} does not exist`,
        'create it, or correct spec.template.spec.nodeClassRef',
      ),
    ];
  const wrong = [...invalid(pool, subject), ...notReady(pool, subject)];
  if (wrong.length > 0) return wrong;
  try {
    return [...(await purchases(pool, { subject, nodeClass, survey, coming })), ...limits(pool, subject)];
  } catch (error) {
    const fix = 'see the error; permissions are listed above';
    return [warning(subject, `its instance types cannot be determined: ${describeError(error)}`, fix)];
  }
}

const invalid = (pool: NodePool, subject: string): readonly Finding[] =>
  nodePoolErrors(pool).map((error) => problem(subject, error, 'correct the field in the message'));

/** Reports no finding if no operator has set the Ready condition. */
function notReady(pool: NodePool, subject: string): readonly Finding[] {
  const ready = getCondition(pool, READY);
  if (ready === undefined || ready.status === 'True') return [];
  const causes = causesOf(pool).map(({ type, reason, message }) => `${type}: ${reason}: ${message}`);
  const text = `is not ready: ${causes.join('; ') || ready.message}`;
  const fix = `correct the cause in the message, or see its conditions: kubectl describe nodepool ${pool.metadata.name}`;
  return [ready.status === 'False' ? problem(subject, text, fix) : warning(subject, text, fix)];
}

interface Purchases {
  readonly subject: string;
  readonly nodeClass: EC2NodeClass;
  readonly survey: Survey;
  readonly coming: Coming;
}

async function purchases(
  pool: NodePool,
  { subject, nodeClass, survey, coming }: Purchases,
): Promise<readonly Finding[]> {
  const uses = `uses EC2NodeClass ${nodeClass.metadata.name}`;
  if (nodeClass.status === undefined)
    return [
      warning(subject, `${uses}, which has no status, so its instance types are unknown`, 'correct the EC2NodeClass'),
    ];
  const surveyed = await survey(nodeClass);
  const requirements = poolRequirements(pool);
  const allowed = surveyed.filter(({ type }) => requirements.compatible(requirementsOf(type), LOOSE));
  const sold = allowed.filter(({ entries }) =>
    entries.some(
      ({ offering, obstacle }) => obstacle === undefined && requirements.compatible(requirementsOf(offering), LOOSE),
    ),
  );
  const awaited = sold.length === 0 ? await coming(pool, nodeClass) : undefined;
  if (awaited !== undefined) return [fine(subject, `${uses} and waits for ${awaited}`)];
  if (allowed.length === 0)
    return [
      problem(
        subject,
        `cannot launch nodes: no instance type matches its requirements${culprits(pool, surveyed)}`,
        FIX,
      ),
    ];
  if (sold.length === 0) {
    const text = `cannot launch nodes: none of its ${allowed.length} instance types has an offering that matches its requirements in the zones of its EC2NodeClass`;
    return [problem(subject, text, FIX)];
  }
  const { unsatisfied } = satisfiesMinValues(
    sold.map(({ type }) => type),
    requirements,
  );
  if (unsatisfied.length > 0) {
    const missed = unsatisfied.map(([key]) => key).join(', ');
    return [
      problem(subject, `cannot launch nodes: its instance types have fewer values than minValues of ${missed}`, FIX),
    ];
  }
  return [fine(subject, `${uses} and can launch ${sold.length} instance types`)];
}

const FIX = 'correct spec.template.spec.requirements';

/** Lists the requirements that each exclude every instance type. */
function culprits(pool: NodePool, surveyed: readonly Surveyed[]): string {
  const { requirements } = pool.spec.template.spec;
  const without = (at: number): NodePool => {
    const spec = { ...pool.spec.template.spec, requirements: requirements.toSpliced(at, 1) };
    return { ...pool, spec: { ...pool.spec, template: { ...pool.spec.template, spec } } };
  };
  const found = requirements.filter((_, at) => {
    const rest = poolRequirements(without(at));
    return surveyed.some(({ type }) => rest.compatible(requirementsOf(type), LOOSE));
  });
  const texts = found.map(({ key, operator, values = [] }) => `${key} ${operator} [${values.join(', ')}]`);
  return texts.length === 0 ? '' : `; without ${texts.join(', or without ')} some instance types would match`;
}

function limits(pool: NodePool, subject: string): readonly Finding[] {
  const used = pool.status?.resources ?? {};
  const reached = Object.entries(pool.spec.limits ?? {}).filter(
    ([name, limit]) => compareQuantities(used[name] ?? '0', limit) >= 0,
  );
  if (reached.length === 0) return [];
  const texts = reached.map(([name, limit]) => `${name} ${used[name] ?? 0} of ${limit}`);
  return [warning(subject, `has reached its limits: ${texts.join(', ')}`, 'increase spec.limits to allow more nodes')];
}
