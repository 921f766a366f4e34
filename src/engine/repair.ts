/** Decides the repair of unhealthy nodes: the condition that counts, the time, the action, and the obstacle. */
import {
  type Condition,
  DO_NOT_REPAIR_ANNOTATION,
  getCondition,
  labelOf,
  type Node,
  poolNameOf,
  type REPAIR_ACTIONS,
  type RepairSection,
  ZONE_LABEL,
} from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { defined, messageOf, own, timeOf, timestamp } from '#lib';
import { type Budget, budgetValue } from './disruption/budgets/budgets.ts';

export type RepairAction = (typeof REPAIR_ACTIONS)[number];

/** Rule for one status of a condition of nodes. */
export interface RepairRule {
  readonly conditionType: string;
  readonly conditionStatus: Condition['status'];
  /** Reasons of the condition, which may end with `*`. Default: every reason. */
  readonly reasons?: readonly string[];
  /** Time for which the condition must hold before the node is repaired. */
  readonly tolerationMs: number;
  /** Default: `Replace`. */
  readonly action?: RepairAction | undefined;
  /** Time for which PodDisruptionBudgets and `do-not-disrupt` hold the pods of the node. Default: 0, as in Karpenter. */
  readonly graceMs?: number;
}

/** Settings of the repair of the nodes of a NodePool. */
export interface RepairSettings {
  readonly rules: readonly RepairRule[];
  /** Limits on nodes that are unavailable at a time. Undefined without a limit. */
  readonly budgets?: readonly Budget[];
}

const DEFAULT_BUDGETS: readonly Budget[] = [{ nodes: '10%' }];

/**
 * Returns the settings of a section of a policy. An invalid duration counts as the default, and the policy's condition names it.
 * @param defaults rules of the provider
 */
export function repairSettings(section: RepairSection | undefined, defaults: readonly RepairRule[]): RepairSettings {
  if (section === undefined) return { rules: defaults };
  const graceOf = (type: string, text: string | undefined): number =>
    finite(text) ?? (type === 'Ready' ? 0 : (finite(section.gracePeriod) ?? 0));
  const own = (section.conditions ?? []).map(
    ({ type, status, reasons, toleration, action, gracePeriod }): RepairRule => ({
      conditionType: type,
      conditionStatus: status,
      ...defined({ reasons, action }),
      tolerationMs: finite(toleration) ?? LONGEST_TOLERATION_MS,
      graceMs: graceOf(type, gracePeriod),
    }),
  );
  const inherited = defaults.map((rule) => ({ ...rule, graceMs: graceOf(rule.conditionType, undefined) }));
  return { rules: [...own, ...inherited], budgets: section.budgets ?? DEFAULT_BUDGETS };
}

/** Toleration with an invalid duration: longer than the defaults, because its author wants a rule of their own. */
const LONGEST_TOLERATION_MS = 60 * 60_000;

const finite = (text: string | undefined): number | undefined =>
  text === undefined ? undefined : readDurationOrNever(text);

/** Condition of a node that calls for a repair. */
export interface Ailment {
  readonly condition: Condition;
  readonly rule: RepairRule;
  /** Start of the condition in milliseconds since the epoch. */
  readonly sinceMs: number;
  /** Time from which the node may be repaired for this condition. */
  readonly dueMs: number;
}

/** Returns the start of the status of a condition in milliseconds since the epoch. */
export type OnsetOf = (node: Node, condition: Condition) => number;

/** The time that the writer of a condition states. A condition without a time is as old as its node. */
export const statedOnset: OnsetOf = ({ metadata }, { lastTransitionTime }) =>
  timeOf(lastTransitionTime ?? metadata.creationTimestamp);

/**
 * Returns the ailment of a node that is due first, or undefined for a healthy node. For one status of a condition, the first rule
 * that names its reason applies, else the first rule for every reason. Conditions with the action `None` do not count.
 */
export function ailmentOf(
  node: Node,
  rules: readonly RepairRule[],
  onsetOf: OnsetOf = statedOnset,
): Ailment | undefined {
  let first: Ailment | undefined;
  for (const type of new Set(rules.map(({ conditionType }) => conditionType))) {
    const condition = getCondition(node, type);
    if (condition === undefined) continue;
    // also of a healthy condition, because its end is the start of the next one
    const sinceMs = onsetOf(node, condition);
    const rule = ruleFor(condition, rules);
    if (rule === undefined || rule.action === 'None') continue;
    const dueMs = sinceMs + rule.tolerationMs;
    if (first === undefined || dueMs < first.dueMs) first = { condition, rule, sinceMs, dueMs };
  }
  return first;
}

function ruleFor(condition: Condition, rules: readonly RepairRule[]): RepairRule | undefined {
  const candidates = rules.filter(
    ({ conditionType, conditionStatus }) => conditionType === condition.type && conditionStatus === condition.status,
  );
  const matches = (pattern: string): boolean =>
    pattern.endsWith('*') ? (condition.reason ?? '').startsWith(pattern.slice(0, -1)) : condition.reason === pattern;
  return (
    candidates.find(({ reasons }) => reasons?.some(matches)) ?? candidates.find(({ reasons }) => reasons === undefined)
  );
}

/**
 * Maximum share of unhealthy nodes of a NodePool, zone or cluster. Above this share, repairs stop because the nodes are probably
 * not the cause.
 */
const TOLERATED_SHARE = 0.2;

const exceedsShare = (unhealthy: number, total: number): boolean => unhealthy > Math.ceil(total * TOLERATED_SHARE);

/** Maximum time between two faults with a common cause. Kubelets and monitoring agents report at intervals of minutes. */
const TOGETHER_MS = 10 * 60_000;
/** Minimum number of faults in a zone with a common cause. Two may coincide. */
const FEWEST_TOGETHER = 3;

/** Faults of a zone that came together. */
interface Outage {
  readonly zone: string;
  readonly unhealthy: number;
  readonly total: number;
  readonly firstMs: number;
  readonly lastMs: number;
}

/** Health of all nodes at one time. */
export interface HealthSurvey {
  readonly ailments: ReadonlyMap<Node, Ailment>;
  readonly outages: ReadonlyMap<string, Outage>;
  /** Numbers of nodes by name of the NodePool. The empty name stands for all nodes. */
  readonly counts: ReadonlyMap<string, NodeCounts>;
}

interface NodeCounts {
  readonly all: NodeCount;
  /** Without the nodes of zones with an outage. */
  readonly calm: NodeCount;
}

interface NodeCount {
  unhealthy: number;
  total: number;
}

/** @param rulesOf returns the rules for a node */
export function surveyHealth(
  nodes: readonly Node[],
  rulesOf: (node: Node) => readonly RepairRule[],
  onsetOf: OnsetOf = statedOnset,
): HealthSurvey {
  const ailments = new Map<Node, Ailment>();
  for (const node of nodes) {
    const ailment = ailmentOf(node, rulesOf(node), onsetOf);
    if (ailment !== undefined) ailments.set(node, ailment);
  }
  const outages = outagesIn(nodes, ailments);
  return { ailments, outages, counts: countsIn(nodes, ailments, outages) };
}

function countsIn(
  nodes: readonly Node[],
  ailments: HealthSurvey['ailments'],
  outages: HealthSurvey['outages'],
): HealthSurvey['counts'] {
  const counts = new Map<string, NodeCounts>();
  for (const node of nodes) {
    const isCalm = !outages.has(labelOf(node, ZONE_LABEL));
    for (const pool of new Set(['', poolNameOf(node)])) {
      const { all, calm } = counts.get(pool) ?? { all: { unhealthy: 0, total: 0 }, calm: { unhealthy: 0, total: 0 } };
      counts.set(pool, { all, calm });
      for (const count of isCalm ? [all, calm] : [all]) {
        count.total++;
        if (ailments.has(node)) count.unhealthy++;
      }
    }
  }
  return counts;
}

function outagesIn(nodes: readonly Node[], ailments: ReadonlyMap<Node, Ailment>): ReadonlyMap<string, Outage> {
  const outages = new Map<string, Outage>();
  if (ailments.size < FEWEST_TOGETHER) return outages;
  for (const [zone, members] of Map.groupBy(nodes, (node) => labelOf(node, ZONE_LABEL))) {
    const starts = members.flatMap((node) => ailments.get(node)?.sinceMs ?? []);
    const burst = longestBurst(starts);
    const [firstMs = 0, lastMs = 0] = [burst[0], burst.at(-1)];
    if (zone === '' || burst.length < FEWEST_TOGETHER || !exceedsShare(burst.length, members.length)) continue;
    outages.set(zone, { zone, unhealthy: burst.length, total: members.length, firstMs, lastMs });
  }
  return outages;
}

/** Returns the longest sequence of times without a gap above {@link TOGETHER_MS}. */
function longestBurst(times: readonly number[]): readonly number[] {
  let longest: readonly number[] = [];
  let current: number[] = [];
  for (const time of times.toSorted((left, right) => left - right)) {
    if (time - (current.at(-1) ?? time) > TOGETHER_MS) current = [];
    current.push(time);
    if (current.length > longest.length) longest = current;
  }
  return longest;
}

/**
 * Reason why an unhealthy node is not repaired. Codes are public. `vetoed`: its annotation forbids repairs. `zone-outage`: many
 * nodes of its zone became unhealthy together. `many-unhealthy`: too many nodes of its NodePool or of the cluster are unhealthy.
 * `budget`: the budgets of the policy allow no further repair. `paused`: the operator is paused.
 * `observed`: the NodePool is observed.
 */
export interface RepairObstacle {
  readonly code: 'vetoed' | 'zone-outage' | 'many-unhealthy' | 'budget' | 'paused' | 'observed';
  readonly text: string;
}

/**
 * Returns the obstacle to the repair of a node that follows from its annotations and from the health of other nodes.
 * @param pool name of its NodePool; empty if it has no NodePool
 */
export function healthObstacle(
  node: Node,
  pool: string,
  { outages, counts }: HealthSurvey,
): RepairObstacle | undefined {
  if (own(node.metadata.annotations, DO_NOT_REPAIR_ANNOTATION) === 'true')
    return { code: 'vetoed', text: `the annotation ${DO_NOT_REPAIR_ANNOTATION} of the node forbids repairs` };
  const zone = outages.get(labelOf(node, ZONE_LABEL));
  const outage = zone && outageText(zone);
  // the common cause of faults in another zone is not that of this node
  const count = counts.get(pool)?.[zone === undefined ? 'calm' : 'all'];
  if (count === undefined || !exceedsShare(count.unhealthy, count.total))
    return outage === undefined ? undefined : { code: 'zone-outage', text: outage };
  const text = pool === '' ? MANY_IN_CLUSTER : MANY_IN_POOL;
  return { code: 'many-unhealthy', text: outage === undefined ? text : `${text}: ${outage}` };
}

/** Texts of Karpenter's events, spelling included. */
const MANY_IN_CLUSTER = 'more then 20% nodes are unhealthy in the cluster';
const MANY_IN_POOL = 'more than 20% nodes are unhealthy in the nodepool';

/**
 * Returns the obstacle of the budgets, or undefined if they allow one more repair.
 * @param nodes number of nodes of the NodePool, and of those that are already unavailable
 */
export function budgetObstacle(
  budgets: readonly Budget[],
  { total, away }: { readonly total: number; readonly away: number },
  nowMs: number,
): RepairObstacle | undefined {
  try {
    const allowed = Math.min(...budgets.map((budget) => budgetValue(budget, total, nowMs)));
    if (away < allowed) return undefined;
    return { code: 'budget', text: `${away} of ${total} nodes are being disrupted, ${allowed} allowed` };
  } catch (error) {
    return { code: 'budget', text: messageOf(error) };
  }
}

const outageText = ({ zone, unhealthy, total, firstMs, lastMs }: Outage): string =>
  `${unhealthy} of ${total} nodes in zone ${zone} became unhealthy between ${timestamp(firstMs)} and ${timestamp(lastMs)}`;

/** Repair of a node. This type is a public format. */
export interface NodeRepair {
  readonly action: RepairAction;
  /** Condition and status, such as `KernelReady=False`. */
  readonly condition: string;
  /** Reason of the condition. */
  readonly reason?: string;
  /** RFC 3339. Start of the condition. */
  readonly since: string;
  /** RFC 3339. Time from which the node is repaired. */
  readonly due: string;
  readonly obstacle?: RepairObstacle;
}

/**
 * Returns the repairs of all unhealthy nodes, by name of the node.
 * @param judge returns the obstacle to a repair, or undefined if the node is not managed
 */
export function repairsIn(
  survey: HealthSurvey,
  judge: (node: Node) => { readonly obstacle: RepairObstacle | undefined } | undefined,
): ReadonlyMap<string, NodeRepair> {
  const repairs = new Map<string, NodeRepair>();
  for (const [node, ailment] of survey.ailments) {
    const judged = judge(node);
    if (judged !== undefined) repairs.set(node.metadata.name, describeRepair(ailment, judged.obstacle));
  }
  return repairs;
}

function describeRepair(
  { condition, rule, sinceMs, dueMs }: Ailment,
  obstacle: RepairObstacle | undefined,
): NodeRepair {
  const { type, status, reason } = condition;
  return {
    action: rule.action ?? 'Replace',
    condition: `${type}=${status}`,
    ...defined({ reason }),
    since: timestamp(sinceMs),
    due: timestamp(dueMs),
    ...defined({ obstacle }),
  };
}

/** Returns a sentence, such as `replaced at 2026-01-01T00:30:00Z, because KernelReady=False since 2026-01-01T00:00:00Z`. */
export function repairText({ action, condition, reason, since, due, obstacle }: NodeRepair): string {
  const because = `${condition}${reason === undefined ? '' : ` (${reason})`} since ${since}`;
  if (obstacle !== undefined) return `not ${ACTION_TEXTS[action]} yet: ${obstacle.text}; ${because}`;
  return `${ACTION_TEXTS[action]} from ${due}, because ${because}`;
}

const ACTION_TEXTS: Readonly<Record<RepairAction, string>> = { Replace: 'replaced', Reboot: 'rebooted', None: 'kept' };

/** Adds the repair of each unhealthy node to its verdict. @param repairs by name of the node */
export const withRepairs = <V extends { readonly node: string }>(
  verdicts: readonly V[],
  repairs: ReadonlyMap<string, NodeRepair>,
): readonly (V & { readonly repair?: NodeRepair })[] =>
  repairs.size === 0
    ? verdicts
    : verdicts.map((verdict) => ({ ...verdict, ...defined({ repair: repairs.get(verdict.node) }) }));
