/** The steps that look up what a NodeClass's selectors match. */
import type { ConditionUpdate } from '../../api/conditions.ts';
import type { EC2NodeClass } from '../../api/ec2-nodeclass.ts';
import { messageOf } from '../../api/error-message.ts';
import type { Clock } from '../../kube/clock.ts';
import { type Amis, amiStatus } from '../amis/amis.ts';
import { UnsupportedAlias } from '../amis/queries.ts';
import type { PlacementGroups } from '../placementgroups/placementgroups.ts';
import type { CapacityReservation, Reservations } from '../reservations/reservations.ts';
import type { SecurityGroups } from '../securitygroups/securitygroups.ts';
import type { Subnets } from '../subnets/subnets.ts';
import { type Step, type StepResult, type StepTools, withStatus } from './step.ts';

const MINUTE_MS = 60_000;

interface Selector {
  readonly what: string;
  readonly condition: string;
  readonly none: { readonly reason: string; readonly message: string };
  readonly status: 'subnets' | 'securityGroups' | 'amis';
  readonly list: Lookup<Found>;
  readonly againMs: number;
}

interface Found {
  readonly id: string;
}

type Lookup<T extends Found> = (
  nodeClass: EC2NodeClass,
  options?: { readonly anew?: boolean },
) => Promise<readonly T[]>;

/** EC2's reads lag and may leave something out: what the status lists is gone once two answers lack it. */
async function confirmed<T extends Found>(
  nodeClass: EC2NodeClass,
  listed: readonly Found[] | undefined,
  list: Lookup<T>,
): Promise<readonly T[]> {
  const found = await list(nodeClass);
  const ids = new Set(found.map(({ id }) => id));
  return listed?.every(({ id }) => ids.has(id)) === false ? list(nodeClass, { anew: true }) : found;
}

/** Found: listed and ready. Nothing found: cleared, not ready. AWS did not answer: everything stays as it was. */
const selectorStep =
  ({ setCondition }: StepTools, { what, condition, none, status, list, againMs }: Selector): Step =>
  async (nodeClass) => {
    let found: readonly Found[];
    try {
      found = await confirmed(nodeClass, nodeClass.status?.[status], list);
    } catch (error) {
      return failedLookup(nodeClass, what, error);
    }
    if (found.length === 0) {
      const cleared = withStatus(nodeClass, { [status]: undefined });
      return {
        nodeClass: setCondition(cleared, { type: condition, status: 'False', ...none }),
        againMs: MINUTE_MS,
      };
    }
    const listed = withStatus(nodeClass, { [status]: found });
    return { nodeClass: setCondition(listed, ready(condition)), againMs };
  };

const failedLookup = (nodeClass: EC2NodeClass, what: string, error: unknown): StepResult => ({
  nodeClass,
  error: new Error(`getting ${what}, ${messageOf(error)}`, { cause: error }),
});

const ready = (type: string): ConditionUpdate => ({ type, status: 'True', message: '' });

export const subnetStep = (tools: StepTools, subnets: Subnets): Step =>
  selectorStep(tools, {
    what: 'subnets',
    condition: 'SubnetsReady',
    none: { reason: 'SubnetsNotFound', message: 'SubnetSelector did not match any Subnets' },
    status: 'subnets',
    list: (nodeClass, options) => subnets.list(nodeClass, options),
    againMs: MINUTE_MS,
  });

export const securityGroupStep = (tools: StepTools, groups: SecurityGroups): Step =>
  selectorStep(tools, {
    what: 'security groups',
    condition: 'SecurityGroupsReady',
    none: { reason: 'SecurityGroupsNotFound', message: 'SecurityGroupSelector did not match any SecurityGroups' },
    status: 'securityGroups',
    list: (nodeClass, options) => groups.list(nodeClass, options),
    againMs: 5 * MINUTE_MS,
  });

export function amiStep(tools: StepTools, amis: Amis): Step {
  const lookUp = selectorStep(tools, {
    what: 'amis',
    condition: 'AMIsReady',
    none: { reason: 'AMINotFound', message: 'AMISelector did not match any AMIs' },
    status: 'amis',
    list: async (nodeClass, options) => (await amis.list(nodeClass, options)).map(amiStatus),
    againMs: 5 * MINUTE_MS,
  });
  return async (nodeClass, log) => {
    const result = await lookUp(nodeClass, log);
    if (!(result.error instanceof Error) || !isUnsupportedAlias(result.error)) return result;
    const update = { type: 'AMIsReady', status: 'False', reason: 'UnsupportedAlias' } as const;
    const refused = tools.setCondition(nodeClass, { ...update, message: result.error.message });
    return { ...result, nodeClass: refused, terminal: true };
  };
}

function isUnsupportedAlias(error: Error): boolean {
  for (let at: unknown = error; at instanceof Error; at = at.cause) if (at instanceof UnsupportedAlias) return true;
  return false;
}

/** No match is fine: reservations are an extra. */
export const reservationStep =
  ({ setCondition }: StepTools, reservations: Reservations, clock: Clock): Step =>
  async (nodeClass) => {
    try {
      const listing: Lookup<CapacityReservation> = (each, options) => reservations.list(each, options);
      const found = await confirmed(nodeClass, nodeClass.status?.capacityReservations, listing);
      const listed = withStatus(nodeClass, { capacityReservations: found.length === 0 ? undefined : [...found] });
      const ends = found.flatMap(({ endTime }) => (endTime === undefined ? [] : [Date.parse(endTime) - clock.now()]));
      return {
        nodeClass: setCondition(listed, ready('CapacityReservationsReady')),
        againMs: Math.max(0, Math.min(MINUTE_MS, ...ends)),
      };
    } catch (error) {
      return failedLookup(nodeClass, 'capacity reservations', error);
    }
  };

/** Reason of `PlacementGroupReady` while the request for the group fails. */
export const GROUP_UNKNOWN = 'PlacementGroupResolutionFailed';

export const placementGroupStep =
  ({ setCondition }: StepTools, groups: PlacementGroups): Step =>
  async (nodeClass) => {
    const selector = nodeClass.spec.placementGroupSelector;
    const type = 'PlacementGroupReady';
    try {
      const group = await groups.resolve(nodeClass);
      if (selector === undefined || group !== undefined) return { nodeClass: setCondition(nodeClass, ready(type)) };
      const message = `Placement group "${selector.name ?? selector.id ?? ''}" not found`;
      const reason = 'PlacementGroupNotFound';
      return { nodeClass: setCondition(nodeClass, { type, status: 'False', reason, message }) };
    } catch (error) {
      // an answer of EC2 of the last day holds until another one comes
      if (groups.remembered(nodeClass) !== undefined) return failedLookup(nodeClass, 'placement group', error);
      const message = 'Failed to resolve placement group';
      return { nodeClass: setCondition(nodeClass, { type, status: 'False', reason: GROUP_UNKNOWN, message }), error };
    }
  };
