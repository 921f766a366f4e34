/**
 * Stages of the replacement of drifted nodes:
 *
 *   Starting ──record written──▶ Canary ──canaries initialized──▶ Soak ──soak elapsed──▶ Waves ──no drifted node──▶ ended
 *                                   └───────────────────────────────┴───a fault───────────┴──▶ Halted
 *
 * The stage follows from the record of the NodePool, its NodeClaims, nodes and pods. A new target starts again.
 */
import {
  getCondition,
  isTrue,
  type NodeClaim,
  type NodePool,
  type RolloutSection,
  type RolloutTimes,
  rolloutTimes,
} from '#api/objects';
import { timeOf, timestamp } from '#lib';
import type { DisruptionReason } from '../reasons.ts';
import { type RolloutNode, rolloutFault, unreadyWorkloads } from './health.ts';
import { launchesFailSinceMs, launchFault } from './launches.ts';
import { isStaged, type RolloutRecord } from './record.ts';

export type RolloutStage = 'Invalid' | 'Starting' | 'Canary' | 'Soak' | 'Waves' | 'Halted';

/** State of a rollout. This type is a public format: the operator serves it at `/debug/budgets`. */
export interface Rollout {
  /** Name of the NodePolicy. */
  readonly policy: string;
  readonly stage: RolloutStage;
  /** Number of drifted nodes that are left. */
  readonly drifted: number;
  /** Number of nodes that are launched since the start. */
  readonly launched: number;
  readonly canaries: number;
  /** Number of further nodes that may be replaced now. Absent if only the budgets limit it. */
  readonly room?: number;
  /** End of the soak, RFC 3339. */
  readonly until?: string;
  /** Cause of the halt. */
  readonly cause?: string;
}

interface RolloutInput {
  readonly section: RolloutSection;
  readonly policy: string;
  /** All NodeClaims of the NodePool. */
  readonly nodes: readonly RolloutNode[];
  readonly record: RolloutRecord | undefined;
  readonly nowMs: number;
}

const findDrifted = (nodes: readonly RolloutNode[]): readonly RolloutNode[] =>
  nodes.filter(({ nodeClaim }) => isStaged(nodeClaim));

/** Returns true for nodes that were launched since the start with the new configuration. */
const isFreshFor =
  ({ sinceMs }: RolloutRecord) =>
  ({ nodeClaim }: RolloutNode): boolean =>
    !isTrue(nodeClaim, 'Drifted') && timeOf(nodeClaim.metadata.creationTimestamp) >= sinceMs;

/** Returns the rollout of a NodePool, or undefined if no node must be replaced. */
export function rolloutOf({ section, policy, nodes, record, nowMs }: RolloutInput): Rollout | undefined {
  const old = findDrifted(nodes);
  if (old.length === 0) return undefined;
  const times = rolloutTimes(section);
  const base = { policy, drifted: old.length, launched: 0, canaries: record?.canaries ?? 0 };
  if (times === undefined) return { ...base, stage: 'Invalid', room: 0 };
  if (record === undefined) return { ...base, stage: 'Starting', room: 0 };
  const isFresh = isFreshFor(record);
  const fresh = nodes.filter(isFresh);
  const others = nodes.filter((each) => !isFresh(each));
  const present = fresh.filter(({ nodeClaim }) => nodeClaim.metadata.deletionTimestamp === undefined);
  const cause =
    record.halted ??
    rolloutFault({ fresh, others, unready: record.unready, times, nowMs }) ??
    launchFault(fresh, record, times, nowMs);
  const known = { ...base, launched: present.length };
  if (cause !== undefined) return { ...known, stage: 'Halted', room: 0, cause };
  const endMs = soakEndMs(present, record.canaries, times);
  if (endMs === undefined) return { ...known, stage: 'Canary', room: Math.max(0, record.canaries - present.length) };
  if (nowMs < endMs) return { ...known, stage: 'Soak', room: 0, until: timestamp(endMs) };
  return { ...known, stage: 'Waves' };
}

/**
 * Returns the end of the soak, or undefined while canaries are missing or not initialized. Pods that arrive on a canary or become
 * unready before the end have their full time to be ready. Later pods do not count, so that an ended soak stays ended.
 */
function soakEndMs(
  present: readonly RolloutNode[],
  count: number,
  { soakMs, podsReadyWithinMs }: RolloutTimes,
): number | undefined {
  const initialized = present
    .filter(({ nodeClaim }) => isTrue(nodeClaim, 'Initialized'))
    .map((each) => ({ each, atMs: timeOf(getCondition(each.nodeClaim, 'Initialized')?.lastTransitionTime) }))
    .sort((a, b) => a.atMs - b.atMs)
    .slice(0, count);
  const lastMs = initialized.at(-1)?.atMs;
  if (lastMs === undefined || initialized.length < count) return undefined;
  const endMs = lastMs + soakMs;
  const arrivals = initialized
    .flatMap(({ each }) => each.pods)
    .flatMap(({ status }) => status?.conditions ?? [])
    .filter(({ type, status }) => type === 'PodScheduled' || (type === 'Ready' && status !== 'True'))
    .map(({ lastTransitionTime }) => timeOf(lastTransitionTime))
    .filter((atMs) => atMs <= endMs);
  return arrivals.reduce((latest, atMs) => Math.max(latest, atMs + podsReadyWithinMs), endMs);
}

/** Returns the record of a rollout that starts now. */
export function startOfRollout(
  { canaries }: RolloutSection,
  nodes: readonly RolloutNode[],
  target: string,
  nowMs: number,
): RolloutRecord {
  const total = nodes.filter(({ nodeClaim }) => nodeClaim.metadata.deletionTimestamp === undefined).length;
  const amount = Number.parseInt(canaries, 10);
  const count = canaries.endsWith('%') ? Math.floor((total * amount) / 100) : amount;
  return {
    target,
    sinceMs: Math.floor(nowMs / 1000) * 1000,
    canaries: Math.max(1, Math.min(count, findDrifted(nodes).length)),
    unready: unreadyWorkloads(nodes),
  };
}

/** Returns the record with the facts that must outlast their NodeClaims: a halt, and launches that fail. */
export function nextRecord(
  record: RolloutRecord,
  { stage, cause }: Rollout,
  nodes: readonly RolloutNode[],
  nowMs: number,
): RolloutRecord {
  if (record.halted !== undefined) return record;
  if (stage === 'Halted') return { ...record, halted: cause };
  return { ...record, failingMs: launchesFailSinceMs(nodes.filter(isFreshFor(record)), record, nowMs) };
}

/** Further field of the disruption settings of a NodePool that a policy governs. */
interface Staged {
  readonly rollout?: Rollout;
}

const copies = new WeakMap<NodePool, { readonly key: string; readonly copy: NodePool }>();

/** Adds the state of its rollout to a NodePool, for decisions and views. Equal states have the same copy. */
export function addRollout(pool: NodePool, rollout: Rollout | undefined): NodePool {
  if (rollout === undefined) return pool;
  const key = JSON.stringify(rollout);
  const known = copies.get(pool);
  if (known?.key === key) return known.copy;
  const disruption = { ...pool.spec.disruption, rollout };
  const copy = { ...pool, spec: { ...pool.spec, disruption } } as NodePool;
  copies.set(pool, { key, copy });
  return copy;
}

export const knownRollout = ({ spec }: NodePool): Rollout | undefined =>
  (spec.disruption as Staged | undefined)?.rollout;

/** Returns the number of further nodes that the rollout allows for a reason, Infinity without a limit. */
export function rolloutRoom(pool: NodePool, reason: DisruptionReason): number {
  const rollout = knownRollout(pool);
  if (rollout?.room === undefined) return Number.POSITIVE_INFINITY;
  if (reason === 'Drifted') return rollout.room;
  // replacements would have the configuration of the canaries
  return reason === 'Underutilized' ? 0 : Number.POSITIVE_INFINITY;
}

/** Returns the rollout for which the disruption of a NodeClaim for a reason must wait. */
export function holdingRollout(pool: NodePool, claim: NodeClaim, reason: DisruptionReason): Rollout | undefined {
  if (rolloutRoom(pool, reason) > 0 || (reason === 'Drifted' && !isStaged(claim))) return undefined;
  return knownRollout(pool);
}

const nodesText = (count: number): string => (count === 1 ? '1 node' : `${count} nodes`);

/** Returns a text on the stage, for verdicts, conditions and warnings. */
export function rolloutText({ stage, policy, drifted: left, launched, canaries, until, cause }: Rollout): string {
  const rest = `${nodesText(left)} left to replace, by NodePolicy ${policy}`;
  switch (stage) {
    case 'Invalid':
      return `a duration of its section rollout is not valid: ${rest}`;
    case 'Starting':
      return `the rollout starts: ${rest}`;
    case 'Canary':
      return `the rollout waits for canaries: ${launched} of ${canaries} launched, ${rest}`;
    case 'Soak':
      return `the rollout waits for its soak until ${until}: ${rest}`;
    case 'Waves':
      return `the rollout replaces the remaining nodes within budgets: ${rest}`;
    case 'Halted':
      return `the rollout is halted, because ${cause}: ${rest}`;
  }
}

/** Returns the ways to continue a halted rollout. */
export const rolloutRemedy = (pool: string): string =>
  `it starts again when the NodePool or its NodeClass changes; to try the same change again: kubectl annotate nodepool ${pool} karpenter-ts.sh/rollout-`;
