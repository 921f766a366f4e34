/** Remembers when a condition of a node took its status, although its writer may reset the time with each new reason. */
import { LRUCache } from 'lru-cache';
import { type Condition, uidOf } from '#api/objects';
import type { OnsetOf } from '#engine/disruption';
import { timeOf } from '#lib';

/** Maximum number of remembered conditions. A forgotten condition is as old as its own time. */
const MOST_CONDITIONS = 50_000;

interface Onset {
  readonly status: Condition['status'];
  readonly reason: string | undefined;
  /** Time of the last transition, as its writer states it. */
  readonly ownMs: number;
  readonly sinceMs: number;
}

export class Onsets {
  readonly #known = new LRUCache<string, Onset>({ max: MOST_CONDITIONS });

  /**
   * Returns the time in milliseconds since the epoch from which the condition has had its status. A newer time with the same
   * reason is a new start, because a watch can miss the status in between.
   */
  readonly of: OnsetOf = (node, { type, status, reason, lastTransitionTime }) => {
    const key = `${uidOf(node)}/${type}`;
    // a condition without a transition time is as old as its node
    const ownMs = timeOf(lastTransitionTime ?? node.metadata.creationTimestamp);
    const known = this.#known.get(key);
    const sinceMs = known?.status === status ? onsetAfter(known, { reason, ownMs }) : ownMs;
    this.#known.set(key, { status, reason, ownMs, sinceMs });
    return sinceMs;
  };
}

function onsetAfter(known: Onset, { reason, ownMs }: Pick<Onset, 'reason' | 'ownMs'>): number {
  if (known.reason !== reason) return Math.min(known.sinceMs, ownMs);
  return known.ownMs === ownMs ? known.sinceMs : ownMs;
}
