/** Order of trial of pods. */
import { uidOf } from '#api/objects';
import { timeOf } from '#lib';
import type { EnginePod } from '../input.ts';
import { compareText } from '../instance-types.ts';
import type { Resources } from '../model.ts';

interface QueuedPod {
  readonly pod: EnginePod;
  readonly requests: Resources;
}

/** Sorts large pods first, by CPU, then memory. Ties are sorted by age, oldest first, then by UID. */
export function sortPods<T extends QueuedPod>(pods: readonly T[]): readonly T[] {
  return pods
    .map((pod) => new SortedPod(pod))
    .sort((a, b) => b.cpu - a.cpu || b.memory - a.memory || a.created - b.created || compareText(a.uid, b.uid))
    .map(({ pod }) => pod);
}

/** Returns the pods with these UIDs before the other pods. Both parts keep their order. */
export function withFirst<T extends Pick<QueuedPod, 'pod'>>(
  pods: readonly T[],
  uids: ReadonlyMap<string, unknown>,
): readonly T[] {
  const [first, rest]: [T[], T[]] = [[], []];
  for (const each of pods) (uids.has(uidOf(each.pod)) ? first : rest).push(each);
  return [...first, ...rest];
}

/** Sort keys of a pod. Parses the time only if the requests are equal to those of another pod. */
class SortedPod<T extends QueuedPod> {
  readonly pod: T;
  readonly cpu: number;
  readonly memory: number;
  #created: number | undefined;

  constructor(pod: T) {
    this.pod = pod;
    this.cpu = pod.requests.cpu ?? 0;
    this.memory = pod.requests.memory ?? 0;
  }

  get created(): number {
    this.#created ??= timeOf(this.pod.pod.metadata.creationTimestamp) || 0;
    return this.#created;
  }

  get uid(): string {
    return uidOf(this.pod.pod);
  }
}

/** Queue to which failed pods are returned until a full round has made no progress. */
export class PodQueue<T> {
  readonly #items: T[];
  readonly #lengthWhenPushed = new Map<T, number>();
  #head = 0;

  constructor(items: readonly T[]) {
    this.#items = [...items];
  }

  get length(): number {
    return this.#items.length - this.#head;
  }

  /** Returns the next item. Returns undefined if no item is left, or if nothing has changed since the items were pushed back. */
  pop(): T | undefined {
    const item = this.#items[this.#head];
    if (item === undefined || this.#lengthWhenPushed.get(item) === this.length) return undefined;
    this.#head++;
    return item;
  }

  pushBack(item: T): void {
    this.#items.push(item);
    this.#lengthWhenPushed.set(item, this.length);
  }

  /** Remaining items, in order. */
  get rest(): readonly T[] {
    return this.#items.slice(this.#head);
  }
}
