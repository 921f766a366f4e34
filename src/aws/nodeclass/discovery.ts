/** Reconcile steps that resolve the selectors of a NodeClass. */
import { type ConditionUpdate, type EC2NodeClass, getCondition } from '#api/objects';
import { causeOf } from '#cloud';
import { messageOf } from '#lib';
import type { Clock } from '#lib/clock';
import { type Amis, amiStatus } from '../amis/amis.ts';
import type { Alias } from '../amis/families.ts';
import { AliasWithoutImages, UnsupportedAlias } from '../amis/queries.ts';
import type { PlacementGroups } from '../placementgroups.ts';
import type { CapacityReservation, Reservations } from '../reservations/reservations.ts';
import type { SecurityGroups } from '../securitygroups.ts';
import type { Subnets } from '../subnets/subnets.ts';
import { type NodeClassStep, type StepTools, unresolvedResult, withStatus } from './step.ts';

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

/**
 * Resolves a selector. EC2's reads are eventually consistent and may miss objects. An object of the status counts as
 * removed only if two responses do not contain it.
 */
async function confirmed<T extends Found>(
  nodeClass: EC2NodeClass,
  listed: readonly Found[] | undefined,
  list: Lookup<T>,
): Promise<readonly T[]> {
  const found = await list(nodeClass);
  const ids = new Set(found.map(({ id }) => id));
  return listed?.every(({ id }) => ids.has(id)) === false ? list(nodeClass, { anew: true }) : found;
}

/**
 * Returns a step that writes the found objects to the status and sets the condition. If no object matches, the step
 * clears the status and sets the condition to False. If the request fails, the status is kept.
 */
const selectorStep =
  (tools: StepTools, { what, condition, none, status, list, againMs }: Selector): NodeClassStep =>
  async (nodeClass) => {
    const { setCondition } = tools;
    let found: readonly Found[];
    try {
      found = await confirmed(nodeClass, nodeClass.status?.[status], list);
    } catch (error) {
      return unresolvedResult(tools, nodeClass, condition, failedLookup(what, error));
    }
    if (found.length === 0) {
      const cleared = withStatus(nodeClass, { [status]: undefined });
      return {
        nodeClass: setCondition(cleared, {
          type: condition,
          status: 'False',
          reason: none.reason,
          message: none.message,
        }),
        againMs: MINUTE_MS,
      };
    }
    const listed = withStatus(nodeClass, { [status]: found });
    return { nodeClass: setCondition(listed, ready(condition)), againMs };
  };

const failedLookup = (what: string, error: unknown): Error =>
  new Error(`getting ${what}, ${messageOf(error)}`, { cause: error });

const ready = (type: string): ConditionUpdate => ({ type, status: 'True', message: '' });

export const subnetStep = (tools: StepTools, subnets: Subnets): NodeClassStep =>
  selectorStep(tools, {
    what: 'subnets',
    condition: 'SubnetsReady',
    none: { reason: 'SubnetsNotFound', message: 'SubnetSelector did not match any Subnets' },
    status: 'subnets',
    list: (nodeClass, options) => subnets.list(nodeClass, options),
    againMs: MINUTE_MS,
  });

export const securityGroupStep = (tools: StepTools, groups: SecurityGroups): NodeClassStep =>
  selectorStep(tools, {
    what: 'security groups',
    condition: 'SecurityGroupsReady',
    none: { reason: 'SecurityGroupsNotFound', message: 'SecurityGroupSelector did not match any SecurityGroups' },
    status: 'securityGroups',
    list: (nodeClass, options) => groups.list(nodeClass, options),
    againMs: 5 * MINUTE_MS,
  });

const AMIS = 'AMIsReady';
const NO_AMI = { reason: 'AMINotFound', message: 'AMISelector did not match any AMIs' } as const;

/** @param region name of the region for messages */
export function amiStep(tools: StepTools, amis: Amis, region: string): NodeClassStep {
  const lookUp = selectorStep(tools, {
    what: 'amis',
    condition: AMIS,
    none: NO_AMI,
    status: 'amis',
    list: async (nodeClass, options) => (await amis.list(nodeClass, options)).map(amiStatus),
    againMs: 5 * MINUTE_MS,
  });
  return async (nodeClass, log) => {
    const result = await lookUp(nodeClass, log);
    const unsupported = causeOf(result.error, UnsupportedAlias);
    if (unsupported !== undefined) {
      const message = (result.error as Error).message;
      const refused = tools.setCondition(nodeClass, {
        type: AMIS,
        status: 'False',
        reason: 'UnsupportedAlias',
        message,
      });
      return { ...result, nodeClass: refused, terminal: true };
    }
    const empty = causeOf(result.error, AliasWithoutImages);
    // AMIs that were found for this spec stay in use, because an alias may have no AMIs for a newer cluster version.
    if (empty === undefined || isCurrent(nodeClass, AMIS)) return result;
    const known = await nearestReleases(empty.parts, amis);
    const nearest = known.length === 0 ? '' : `; nearest releases: ${known.join(', ')}`;
    const detail = `alias ${empty.alias} does not match an image in ${region}${nearest}`;
    const cleared = withStatus(nodeClass, { amis: undefined });
    return {
      nodeClass: tools.setCondition(cleared, { type: AMIS, status: 'False', ...NO_AMI }),
      detail: { type: AMIS, text: detail },
      againMs: MINUTE_MS,
    };
  };
}

/** Returns no releases if they cannot be listed, because the condition must be set in any case. */
const nearestReleases = (alias: Alias, amis: Amis): Promise<readonly string[]> =>
  amis.releasesNear(alias).catch((): readonly string[] => []);

/** Returns true if the condition is true for the current generation of the spec. */
function isCurrent(nodeClass: EC2NodeClass, type: string): boolean {
  const condition = getCondition(nodeClass, type);
  return condition?.status === 'True' && condition.observedGeneration === nodeClass.metadata.generation;
}

/**
 * Returns the step for capacity reservations. The condition is True even if no reservation matches, because
 * reservations are optional.
 */
export const reservationStep =
  (tools: StepTools, reservations: Reservations, clock: Clock): NodeClassStep =>
  async (nodeClass) => {
    const type = 'CapacityReservationsReady';
    try {
      const listing: Lookup<CapacityReservation> = (each, options) => reservations.list(each, options);
      const found = await confirmed(nodeClass, nodeClass.status?.capacityReservations, listing);
      const listed = withStatus(nodeClass, { capacityReservations: found.length === 0 ? undefined : [...found] });
      const ends = found.flatMap(({ endTime }) => (endTime === undefined ? [] : [Date.parse(endTime) - clock.now()]));
      return {
        nodeClass: tools.setCondition(listed, ready(type)),
        // a reservation is used from its start on, and not a minute later
        againMs: Math.max(0, Math.min(await reservations.nextReadMs(nodeClass), ...ends)),
      };
    } catch (error) {
      return unresolvedResult(tools, nodeClass, type, failedLookup('capacity reservations', error));
    }
  };

/** Reason of `PlacementGroupReady` if the request for the group fails. */
export const GROUP_UNKNOWN = 'PlacementGroupResolutionFailed';

export const placementGroupStep =
  ({ setCondition }: StepTools, groups: PlacementGroups): NodeClassStep =>
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
      // a response of EC2 stays valid for a day if later requests fail
      if (groups.remembered(nodeClass) !== undefined)
        return { nodeClass, error: failedLookup('placement group', error) };
      const message = 'Failed to resolve placement group';
      return { nodeClass: setCondition(nodeClass, { type, status: 'False', reason: GROUP_UNKNOWN, message }), error };
    }
  };
