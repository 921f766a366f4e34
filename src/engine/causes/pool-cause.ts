/** Finds the cause for which one NodePool launches no node for a pod. */
import { type NodePool, WELL_KNOWN_LABELS } from '#api/objects';
import { nearestName, own, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { allocatable } from '../instance-types.ts';
import type { Ceiling, InstanceType, Misfit, Resources } from '../model.ts';
import { templateRequirements } from '../node-template.ts';
import { placementRequests } from '../placement-requests.ts';
import { NODES, type PoolUsage, usedOf } from '../pool-usage.ts';
import { Requirements } from '../requirements.ts';
import { amountIn, fits, quantityList, resourcesOf } from '../resources.ts';
import { formatTaint } from '../taints.ts';
import { type Cause, type CauseCode, ONE_MORE_NODE } from './cause.ts';
import { ceilingCause } from './ceiling-cause.ts';
import { addition, instanceTypeCause, matches } from './instance-type-cause.ts';
import { requiredText, requirementText } from './requirement-text.ts';

/** NodePool as a pod finds it. */
export interface PoolState {
  readonly pool: NodePool;
  readonly instanceTypes: readonly InstanceType[];
  readonly usage: () => PoolUsage;
  /** All ceilings. Their use includes the plan. */
  readonly ceilings: () => readonly Ceiling[];
  /** Charges of each node of the NodePool besides its instance. */
  readonly chargesUsdPerHour: number;
}

/** Returns the requirements of the NodePool's nodes. The NodePool is compiled once for many pods. */
export const poolRequirementsOf = remembering((pool: NodePool): Requirements => templateRequirements(pool));

/** @param podRequirements requirements of the pod's selector and of one term of its affinity */
export function poolCause(pod: EnginePod, podRequirements: Requirements, state: PoolState, misfit: Misfit): Cause {
  const { pool, instanceTypes } = state;
  const poolRequirements = poolRequirementsOf(pool);
  const types = { pool, types: instanceTypes, poolRequirements };
  switch (misfit.code) {
    case 'taint':
      return taintCause(pool, misfit.taint);
    case 'requirements':
      return conflict(pool, poolRequirements, podRequirements) ?? otherCause(pool.metadata.name, misfit);
    case 'limits':
      return restrictionCause(state, podRequirements, typesFor(pod, podRequirements, state));
    case 'instance-types': {
      const demand = { ...types, podRequirements, requests: placementRequests(pod) };
      return instanceTypeCause(demand) ?? withDaemons(pool.metadata.name, misfit);
    }
    case 'volume-limit':
      return volumeLimitCause(pool, misfit);
    case 'no-instance-types': {
      if (instanceTypes.length === 0) return otherCause(pool.metadata.name, misfit);
      const cause = instanceTypeCause({ ...types, podRequirements: Requirements.EMPTY, requests: {} });
      return cause ?? otherCause(pool.metadata.name, misfit);
    }
    default:
      return otherCause(pool.metadata.name, misfit);
  }
}

function volumeLimitCause(pool: NodePool, misfit: Extract<Misfit, { code: 'volume-limit' }>): Cause {
  return {
    code: 'volume-limit',
    object: { kind: 'NodePool', name: pool.metadata.name },
    field: misfit.driver,
    wanted: `the pod uses ${misfit.wanted} volumes of ${misfit.driver}`,
    offered: String(misfit.most),
    remedy: 'Divide the volumes among several pods, or allow instance types that attach more volumes.',
  };
}

function taintCause(pool: NodePool, taint: Extract<Misfit, { code: 'taint' }>['taint']): Cause {
  return {
    code: 'taint',
    object: { kind: 'NodePool', name: pool.metadata.name },
    field: taint.key,
    wanted: 'no taint',
    offered: formatTaint(taint),
    remedy: `Add a toleration for ${taint.key} to the pod, or use another NodePool.`,
  };
}

function conflict(pool: NodePool, poolRequirements: Requirements, podRequirements: Requirements): Cause | undefined {
  const [key] = conflictsOf(poolRequirements, podRequirements);
  if (key === undefined) return undefined;
  const object = { kind: 'NodePool', name: pool.metadata.name } as const;
  const set = podRequirements.get(key);
  const wanted = requiredText(key, set);
  if (!poolRequirements.has(key)) {
    const nearest = nearestName(key, [...poolRequirements.keys, ...WELL_KNOWN_LABELS]);
    return {
      code: 'undefined-label',
      object,
      field: key,
      wanted,
      offered: 'no value',
      remedy: nearest === undefined ? `Add ${key} to the requirements of the NodePool.` : `Did you mean "${nearest}"?`,
      change: {
        of: nearest === undefined ? 'NodePool' : 'Pod',
        fields: [key],
        values: nearest === undefined ? (set.complement ? [] : set.sorted) : [nearest],
      },
    };
  }
  const offered = poolRequirements.get(key);
  const isLabel = own(pool.spec.template.metadata?.labels ?? {}, key) !== undefined;
  const missing = set.complement ? [] : set.sorted.filter((value) => !offered.has(value));
  const change: Pick<Cause, 'remedy' | 'change'> = isLabel
    ? {
        remedy: 'Change the selector of the pod, or use another NodePool.',
        change: { of: 'Pod', fields: [key], values: [] },
      }
    : addition(offered, key, missing);
  return { code: 'requirements', object, field: key, wanted, offered: requirementText(key, offered), ...change };
}

/** Returns the labels without a value that satisfies both sides: undefined labels last, because the pod's selector is wrong. */
export function conflictsOf(pool: Requirements, pod: Requirements): readonly string[] {
  const clashing = pod.keys.filter((key) => {
    const [ours, theirs] = [pool.get(key), pod.get(key)];
    return pool.has(key) && !ours.intersects(theirs) && !(ours.allowsAbsence && theirs.allowsAbsence);
  });
  const unknown = pod.keys.filter(
    (key) => !pool.has(key) && !WELL_KNOWN_LABELS.has(key) && !pod.get(key).allowsAbsence,
  );
  return [...clashing.sort(), ...unknown.sort()];
}

/** Returns the cause if the limits leave no instance type for the pod, but leave other instance types. */
export function withinLimitsCause(pod: EnginePod, podRequirements: Requirements, state: PoolState): Cause {
  const cause = restrictionCause(state, podRequirements, typesFor(pod, podRequirements, state));
  return cause.code === 'ceiling'
    ? cause
    : { ...cause, wanted: `the pod requests ${quantityText(placementRequests(pod))}` };
}

/** Returns the limit of the NodePool that has no room for a node, otherwise the ceiling that has none. */
function restrictionCause(
  { pool, usage, ceilings, chargesUsdPerHour }: PoolState,
  podRequirements: Requirements,
  types: readonly InstanceType[],
): Cause {
  const own = usage();
  const ceiling =
    limitsExceededBy(pool, (name) => usedOf(own, name), types).length > 0
      ? undefined
      : ceilingCause(ceilings(), {
          requirements: poolRequirementsOf(pool).intersect(podRequirements),
          types,
          chargesUsdPerHour,
        });
  return ceiling ?? limitsCause(pool, own, types);
}

/** Returns the instance types that can run the pod. If none can, returns all. */
function typesFor(
  pod: EnginePod,
  podRequirements: Requirements,
  { pool, instanceTypes }: Pick<PoolState, 'pool' | 'instanceTypes'>,
): readonly InstanceType[] {
  const both = poolRequirementsOf(pool).intersect(podRequirements);
  const requests = placementRequests(pod);
  const found = instanceTypes.filter((type) => matches(type, both) && fits(requests, allocatable(type)));
  return found.length === 0 ? instanceTypes : found;
}

const quantityText = (requests: Resources): string => {
  const { pods: _, ...amounts } = quantityList(requests);
  return Object.entries(amounts)
    .map(([name, amount]) => `${name} ${amount}`)
    .join(' and ');
};

/** Returns the limited resources that one more node of any of the instance types would exceed. */
function limitsExceededBy(
  pool: NodePool,
  used: (name: string) => number,
  types: readonly InstanceType[],
): readonly string[] {
  return Object.entries(resourcesOf(pool.spec.limits))
    .filter(([name, limit]) => {
      const room = limit - used(name);
      return name === NODES ? room < 1 : types.every(({ capacity }) => amountIn(capacity, name) > room);
    })
    .map(([name]) => name);
}

/** Reports whether a limit is expected to have room again without a change. */
export const endsByItself = ({ code, remedy }: Cause): boolean => code === 'limits' && remedy === WAIT;

const WAIT = 'No change is needed: the operator tries again when this part of the limit is free.';

/**
 * Returns the cause with the limits that must be increased. If only amounts that are expected to become free exceed a limit, the
 * remedy is to wait.
 * @param types instance types of which the NodePool would launch one if it had no limits
 */
export function limitsCause(pool: NodePool, usage: PoolUsage, types: readonly InstanceType[]): Cause {
  const limits = resourcesOf(pool.spec.limits);
  const used = (name: string): number => usedOf(usage, name);
  const lasting = limitsExceededBy(pool, (name) => used(name) - amountIn(usage.returning, name), types);
  const exceeded = limitsExceededBy(pool, used, types);
  const share = (name: string): number => used(name) / Math.max(1, amountIn(limits, name));
  const rank = (name: string): number => Number(exceeded.includes(name)) + Number(lasting.includes(name));
  const names = Object.keys(limits).toSorted((a, b) => rank(b) - rank(a) || share(b) - share(a));
  const [field = 'cpu'] = names;
  const fields = lasting.length === 0 ? [field] : names.filter((name) => lasting.includes(name));
  const waits = lasting.length === 0 && exceeded.length > 0;
  const least = types.length === 0 ? 0 : Math.min(...types.map(({ capacity }) => amountIn(capacity, field)));
  const isSmall = field !== NODES && least > amountIn(limits, field);
  return {
    code: 'limits',
    object: { kind: 'NodePool', name: pool.metadata.name },
    field: `spec.limits.${field}`,
    // otherwise a limit with no use in it would look like a mistake
    wanted: isSmall ? `a node for the pod has at least ${field} ${amountText(field, least)}` : ONE_MORE_NODE,
    offered: usageText(usage, names, limits),
    remedy: waits ? WAIT : `Increase ${fields.map((name) => `spec.limits.${name}`).join(' and ')} of the NodePool.`,
    change: { of: 'NodePool', fields: fields.map((name) => `spec.limits.${name}`), values: [] },
  };
}

const amountText = (name: string, amount: number): string => quantityList({ [name]: amount })[name] ?? '0';

/** Returns the used part of each limit. Explains the parts if some of them are not in use. */
function usageText(usage: PoolUsage, names: readonly string[], limits: Resources): string {
  const parts = [
    ['in use', usage.inUse],
    ['on nodes that are being removed', usage.leaving],
    ['reserved for NodeClaims that are launching', usage.launching],
    ['planned for new NodeClaims', usage.planned],
  ] as const;
  const text = amountText;
  const totals = names.map((name) => {
    const total = `${name} ${text(name, usedOf(usage, name))} of ${text(name, amountIn(limits, name))}`;
    const present = parts.filter(([, amounts]) => amountIn(amounts, name) > 0);
    const shown = present.map(([state, amounts]) => `${text(name, amountIn(amounts, name))} ${state}`);
    return { total, detailed: shown.length === 0 ? total : `${total} (${shown.join(', ')})` };
  });
  const isSimple = parts.slice(1).every(([, amounts]) => names.every((name) => amountIn(amounts, name) === 0));
  return isSimple
    ? `${totals.map(({ total }) => total).join(', ')} in use`
    : totals.map(({ detailed }) => detailed).join(', ');
}

/** The pod alone fits on some instance type. */
function withDaemons(nodePool: string, misfit: Misfit): Cause {
  const text = 'text' in misfit ? misfit.text : '';
  const [, requests = 'more than it'] = text.split('resources=');
  return {
    code: 'too-large',
    object: { kind: 'NodePool', name: nodePool },
    field: 'requests',
    wanted: `the pod and the DaemonSets of a node request ${requests}`,
    offered: 'less',
    remedy: 'Reduce the requests, or allow larger instance types.',
  };
}

const REMEDIES: Readonly<Partial<Record<CauseCode, string>>> = {
  'min-values': 'Reduce minValues, or allow more instance types.',
  topology: 'Relax the constraint of the pod, or allow more zones.',
  volume: 'Use a NodePool in the zone of the volume.',
  devices: 'Allow instance types with the requested devices, or declare the devices of their nodes.',
  'host-port': 'Use another host port.',
  'launch-withheld': 'Remove the cause; the condition LaunchesProductive of the NodePool has the next attempt.',
  'not-ready': 'Correct the field that the message names.',
  static: 'Use a NodePool without spec.replicas.',
  deleting: 'Create the NodePool again, or use another NodePool.',
  'no-instance-types': 'Check that the NodeClass is ready.',
  unreadable: 'Correct this field.',
};

/** Returns the beginning of the sentence about a NodePool. */
const BEGINNINGS: Readonly<Partial<Record<Misfit['code'], string>>> = {
  'min-values': 'cannot satisfy minValues: ',
  topology: 'cannot satisfy a constraint of the pod: ',
  volume: 'cannot serve the volumes of the pod: ',
  devices: 'has no nodes with the devices of the pod: ',
  'host-port': 'cannot provide the host port: ',
  'reserved-capacity': 'waits for reserved capacity: ',
  'launch-withheld': 'launches no node for the pod now: ',
  'not-ready': 'is not ready: ',
  static: 'is not used: ',
  deleting: 'is not used: ',
  'no-instance-types': 'is not used: ',
  unreadable: 'is not valid: ',
};

/** Beginning of texts about devices, which the sentence of a cause does not need. */
const DEVICE_PREFIX = /^allocating dynamic resources, (?:no instance type can satisfy the allocation: )?/;

/** Returns the cause with the text of the misfit, without details that only Karpenter's text needs. */
export function otherCause(nodePool: string, misfit: Exclude<Misfit, { code: 'taint' }>): Cause {
  const code: CauseCode = misfit.code === 'instance-types' ? 'no-instance-types' : misfit.code;
  const [beforeCounts = ''] = misfit.text.split(' (counts = ');
  const [whole = ''] = beforeCounts.split(', requirements=');
  const text = code === 'devices' ? whole.replace(DEVICE_PREFIX, '') : whole;
  return {
    code,
    object: { kind: 'NodePool', name: nodePool },
    field: 'key' in misfit && misfit.key !== undefined ? misfit.key : '',
    wanted: '',
    offered: code === 'requirements' ? text : `${BEGINNINGS[misfit.code] ?? 'rejects the pod: '}${text}`,
    remedy: REMEDIES[code] ?? 'Use another NodePool.',
  };
}
