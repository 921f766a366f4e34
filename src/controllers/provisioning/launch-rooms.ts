/** Finds how many nodes a NodePool may launch at a time for the pods of each namespace. */
import type { Pod } from '#api/objects';
import { namespaceOf } from '#engine/model';
import { interleave, timeOf } from '#lib';
import { likenessOf } from '#state';
import type { Deps } from '../deps.ts';
import { isMature, provenAmong, type SuspectNodes } from './launch-suspects.ts';
import type { Launch } from './launches.ts';
import { affects, type CauseRecord, isCommon, type PoolBudget } from './pool-budget.ts';

/** Number of nodes at a time for pods if the NodePool holds back equal pods of other namespaces. */
const UNTRIED_AT_ONCE = 2;
/** Number of nodes at a time for all other namespaces together if the cause was found for several namespaces. */
const COMMON_AT_ONCE = 1;

interface RoomParts {
  readonly nodePool: string;
  /** Launches of the NodePool that are not judged yet. */
  readonly open: readonly Launch[];
  /** By key of the cause. */
  readonly suspects: ReadonlyMap<string, SuspectNodes>;
  readonly budget: PoolBudget;
  /** Pods of the planned claims. */
  readonly planned: readonly Pod[];
}

/** Number of nodes that may still be launched for a namespace. */
interface Room {
  all: number;
  /** For pods if no similar pod runs on the nodes of the NodePool. */
  unproven: number;
  /** For pods that a cause affects in other namespaces. */
  untried: number;
}

const podsOf = ({ pods }: Launch): readonly Pod[] => [...pods.values()];

export class LaunchRooms {
  readonly #parts: RoomParts;
  readonly #underWay: readonly Launch[];
  /** Causes that hold back some namespaces. */
  readonly #causes: readonly CauseRecord[];
  /** Likeness of the pods that run on nodes of the NodePool. */
  readonly #proven: ReadonlySet<string>;
  readonly #rooms = new Map<string, Room>();
  /** Number of nodes that may still be launched for pods that a common cause affects in other namespaces. */
  #common: number;

  constructor(deps: Deps, parts: RoomParts) {
    const { nodePool, open, budget, planned } = parts;
    this.#parts = parts;
    this.#underWay = open.filter((launch) => launch.departedMs === undefined && !isMature(launch, deps.clock));
    this.#causes = [...budget.records.values()].filter(
      ({ times, namespaces }) => times > 0 && namespaces !== undefined,
    );
    const isLimited = [...new Set(planned.map(namespaceOf))].some(
      (namespace) => this.#unprovenAtOnce(namespace) < Infinity,
    );
    const compared = isLimited || this.#causes.length > 0 ? [...planned, ...this.#underWay.flatMap(podsOf)] : [];
    this.#proven = provenAmong(deps, nodePool, compared);
    this.#common =
      COMMON_AT_ONCE - this.#underWay.filter((launch) => this.#areUntried(podsOf(launch), isCommon)).length;
  }

  /**
   * Reports whether a node may be launched for the pods now, and counts it. Pods of one namespace suffice, because they must not
   * wait for other namespaces.
   */
  admits(pods: readonly Pod[]): boolean {
    if (pods.length === 0) return true;
    const isProven = this.#areProven(pods);
    return [...Map.groupBy(pods, namespaceOf)].some(([namespace, own]) => {
      const room = this.#roomOf(namespace);
      const isUntried = !isProven && this.#areUntried(own);
      const isOfCommon = isUntried && this.#areUntried(own, isCommon);
      if (room.all <= 0 || (!isProven && room.unproven <= 0) || (isUntried && room.untried <= 0)) return false;
      if (isOfCommon && this.#common <= 0) return false;
      room.all -= 1;
      if (!isProven) room.unproven -= 1;
      if (isUntried) room.untried -= 1;
      if (isOfCommon) this.#common -= 1;
      return true;
    });
  }

  #areProven(pods: readonly Pod[]): boolean {
    return pods.some((pod) => this.#proven.has(likenessOf(pod)));
  }

  #areUntried(pods: readonly Pod[], isRelevant: (cause: CauseRecord) => boolean = () => true): boolean {
    return this.#causes
      .filter(isRelevant)
      .some(({ cause, namespaces }) =>
        pods.some((pod) => namespaces?.has(namespaceOf(pod)) === false && affects(cause, pod)),
      );
  }

  #unprovenAtOnce(namespace: string): number {
    const { budget, suspects } = this.#parts;
    const own = [...suspects].filter(([, { mature, namespaces }]) => mature > 0 && namespaces.has(namespace));
    return budget.unprovenAtOnce(namespace, new Map(own.map(([key, { mature }]) => [key, mature])));
  }

  #roomOf(namespace: string): Room {
    let room = this.#rooms.get(namespace);
    if (room === undefined) {
      const own = this.#underWay.filter(({ namespaces }) => namespaces.has(namespace));
      const unproven = own.filter((launch) => !this.#areProven(podsOf(launch)));
      const unused = own.filter(({ isUsed, isAbandoned }) => !isUsed && !isAbandoned);
      room = {
        all: this.#parts.budget.shareOf(namespace).abandoned.atOnce() - unused.length,
        unproven: this.#unprovenAtOnce(namespace) - unproven.length,
        untried: UNTRIED_AT_ONCE - unproven.filter((launch) => this.#areUntried(podsOf(launch))).length,
      };
      this.#rooms.set(namespace, room);
    }
    return room;
  }
}

interface PlannedLaunch {
  readonly pods: readonly Pod[];
}

/**
 * Orders planned launches so that kinds of pods take turns. The kind with the earliest last launch is first, and pods of one kind
 * are ordered by their creation.
 * @param lastMs time of the last launch for a likeness
 */
export function inTurn<T extends PlannedLaunch>(
  planned: readonly T[],
  lastMs: (likeness: string) => number,
): readonly T[] {
  const kinds = Map.groupBy(planned, ({ pods: [pod] }) => pod && likenessOf(pod));
  const turns = [...kinds].map(([likeness, own]) => ({
    lastMs: likeness === undefined ? 0 : lastMs(likeness),
    own: own.toSorted((a, b) => createdMs(a) - createdMs(b)),
  }));
  const inOrder = turns.sort((a, b) => compare(a.lastMs, b.lastMs) || compare(firstMs(a.own), firstMs(b.own)));
  return interleave(inOrder.map(({ own }) => own));
}

const createdMs = ({ pods }: PlannedLaunch): number =>
  pods.reduce(
    (first, { metadata }) => Math.min(first, timeOf(metadata.creationTimestamp) || 0),
    Number.POSITIVE_INFINITY,
  );

const firstMs = ([first]: readonly PlannedLaunch[]): number => (first === undefined ? 0 : createdMs(first));

/** Compares numbers that may be infinite. */
const compare = (a: number, b: number): number => (a === b ? 0 : a - b);
