/** Record of a rollout, which an annotation of the NodePool keeps over restarts of the operator. */
import { getCondition, isTrue, type NodeClaim, type NodePool, ROLLOUT_ANNOTATION } from '#api/objects';
import { timeOf, timestamp, tryRun } from '#lib';
import { MAINTENANCE_PLANNED } from '../../maintenance.ts';

export interface RolloutRecord {
  /** Digest of the configuration that the nodes should get. */
  readonly target: string;
  /** Start in milliseconds since the epoch, in whole seconds. */
  readonly sinceMs: number;
  /** Number of nodes to replace first. */
  readonly canaries: number;
  /** UIDs of the controllers with pods that were not ready at the start. Undefined if there were too many to list. */
  readonly unready: readonly string[] | undefined;
  /** Time since which launches of new nodes fail, in milliseconds since the epoch. */
  readonly failingMs?: number | undefined;
  /** Cause of the halt. */
  readonly halted?: string | undefined;
}

/** Returns the record of a NodePool, or undefined without a record that can be read. */
export function readRollout({ metadata }: Pick<NodePool, 'metadata'>): RolloutRecord | undefined {
  const text = metadata.annotations?.[ROLLOUT_ANNOTATION];
  const parsed: unknown = text === undefined ? undefined : tryRun(() => JSON.parse(text));
  if (typeof parsed !== 'object' || parsed === null) return undefined;
  const { target, since, canaries, unready, failing, halted } = parsed as Readonly<Record<string, unknown>>;
  const sinceMs = typeof since === 'string' ? timeOf(since) : Number.NaN;
  if (typeof target !== 'string' || !(sinceMs > 0)) return undefined;
  if (typeof canaries !== 'number' || !Number.isInteger(canaries) || canaries < 1) return undefined;
  const failingMs = typeof failing === 'string' ? timeOf(failing) : Number.NaN;
  return {
    target,
    sinceMs,
    canaries,
    unready: Array.isArray(unready) ? unready.map(String) : undefined,
    failingMs: failingMs > 0 ? failingMs : undefined,
    halted: typeof halted === 'string' ? halted : undefined,
  };
}

/** Returns the NodePool with this record, or without a record. */
export function withRollout(pool: NodePool, record: RolloutRecord | undefined): NodePool {
  const { [ROLLOUT_ANNOTATION]: before, ...others } = pool.metadata.annotations ?? {};
  if (record === undefined)
    return before === undefined ? pool : { ...pool, metadata: { ...pool.metadata, annotations: others } };
  const { target, sinceMs, canaries, unready, failingMs, halted } = record;
  const failing = failingMs === undefined ? undefined : timestamp(failingMs);
  const text = JSON.stringify({ target, since: timestamp(sinceMs), canaries, unready, failing, halted });
  return { ...pool, metadata: { ...pool.metadata, annotations: { ...others, [ROLLOUT_ANNOTATION]: text } } };
}

/** Reasons of drift that concern one node and not the configuration of a NodePool. They do not wait for a rollout. */
const OF_ONE_NODE: ReadonlySet<string | undefined> = new Set([
  MAINTENANCE_PLANNED,
  'InstanceTypeNotFound',
  'CapacityReservationDrift',
]);

/** Returns true for a NodeClaim that a rollout replaces. */
export const isStaged = (claim: NodeClaim): boolean =>
  isTrue(claim, 'Drifted') && !OF_ONE_NODE.has(getCondition(claim, 'Drifted')?.reason);
