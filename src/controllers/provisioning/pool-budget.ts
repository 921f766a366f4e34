/**
 * Launch budget of one NodePool. Counts unproductive launches by cause. Further launches for affected pods wait longer after each
 * failure. The allowances of each namespace limit the total of all causes. See docs/decisions/0050 and 0072.
 */
import type { Pod } from '#api/objects';
import { namespaceOf } from '#engine/model';
import { causeKey, isAffected, type LaunchCause, mergeCauses } from '#engine/solve';
import { backOffMs } from '#kube/reconcilers';
import { monotonicMs, type Timepiece } from '#lib/clock';
import { likenessOf } from '#state';
import { Allowances, FEW_ALLOWANCES, MOST_ALLOWANCES } from './allowances.ts';

const MINUTE_MS = 60_000;
/** Time until the allowance of an unproductive launch returns. */
export const ALLOWANCE_MS = 15 * MINUTE_MS;
/** Time until the allowance of an abandoned launch returns. Such a launch costs little, because it ends before its node joins. */
export const ABANDONED_MS = 30_000;
/** Maximum number of allowances that a namespace gets for used nodes. */
const MOST_EARNED = 1_000;
/** A trial leaves one allowance to pods that no cause affects. */
const TRIAL_ALLOWANCES = 2;
/** Other namespaces try one node at a time together if a cause was found for this many namespaces. */
const FEW_NAMESPACES = 3;
/** A cause holds back all namespaces if it was found for this many. */
const MOST_NAMESPACES = 20;
/** Key of the allowances for launches that no namespace is responsible for. */
const ALL_TOGETHER: ReadonlySet<string> = new Set(['']);
/** Causes of one NodePool. Beyond this number, the cause that failed longest ago is forgotten. */
export const MOST_CAUSES = 20;
/** Selectors of pods are quoted and may be of any length. */
const MOST_TEXT = 300;
export const LONGEST_BACK_OFF_MS = 60 * MINUTE_MS;
/** Minimum interval between two resets by edits of the NodePool or its NodeClass. */
export const RESET_MS = 10 * MINUTE_MS;

interface Rule {
  /** Unproductive launches in succession after which further ones wait. */
  readonly most: number;
  readonly firstMs: number;
}
const OF_PODS: Rule = { most: 2, firstMs: 10 * MINUTE_MS };
/** Nodes may end early for many reasons in a healthy cluster, and each affects all pods. */
const OF_ALL: Rule = { most: 3, firstMs: 2 * MINUTE_MS };

export const affectsEveryPod = ({ code }: LaunchCause): boolean => code === 'never-joined' || code === 'terminated';
const ruleOf = (cause: LaunchCause): Rule => (affectsEveryPod(cause) ? OF_ALL : OF_PODS);

type CauseOfLikeness = Extract<LaunchCause, { readonly likeness: string }>;
export const isOfLikeness = (cause: LaunchCause): cause is CauseOfLikeness =>
  cause.code === 'volume' || cause.code === 'not-used';

/** Reports whether the cause affects the pod, likeness included. */
export const affects = (cause: LaunchCause, pod: Pod): boolean =>
  isOfLikeness(cause) ? likenessOf(pod) === cause.likeness : isAffected(pod, cause);

/** Cause of unproductive launches of the NodePool. Times are by `monotonicMs`. */
export interface CauseRecord {
  cause: LaunchCause;
  text: string;
  /** Namespaces of the affected pods. Undefined for all namespaces. */
  namespaces: ReadonlySet<string> | undefined;
  /** Unproductive launches since the last productive one. */
  nodes: number;
  /** Cost of the unproductive nodes that are gone. */
  usd: number;
  /** Unproductive launches that count towards the back-off. */
  failures: number;
  /** Number of back-offs in succession. */
  times: number;
  /** Creation of the first of the launches: only later launches can show that the cause is gone. */
  firstCreatedMs: number;
  heldMs: number;
  untilMs: number;
}

/** Reports whether the cause keeps the pod from further nodes of the NodePool. */
export const isSubjectTo = ({ cause, namespaces }: Pick<CauseRecord, 'cause' | 'namespaces'>, pod: Pod): boolean =>
  (namespaces === undefined || namespaces.has(namespaceOf(pod))) && affects(cause, pod);

/** Launch whose node served no pod. */
export interface Unproductive {
  readonly cause: LaunchCause;
  readonly text: string;
  /** Namespace of a pod that the node was launched for, or an empty string for a launch without pods. */
  readonly namespace: string;
  /** By `monotonicMs`. */
  readonly createdMs: number;
}

/** Launches under way that affect a decision about a cause. */
interface UnderWay {
  /** Number of nodes that show the cause and are not judged yet. */
  readonly suspects: number;
  /** Reports whether a launch for affected pods that was created since the time is not judged yet. */
  readonly hasTrialSince: (ms: number) => boolean;
}

/** `due`: one launch may show whether the cause is gone. */
export type CauseState = 'open' | 'held' | 'due';

/** Allowances of one namespace. */
interface Share {
  readonly unproductive: Allowances;
  readonly abandoned: Allowances;
  /** Number of abandoned launches. */
  abandonedNodes: number;
  /** True once a launch waited because too many were abandoned. */
  isWaiting: boolean;
}

/** Namespace whose launches wait because the pods of earlier launches were deleted. */
export interface Abandonment {
  readonly namespace: string;
  readonly nodes: number;
  /** Time of the next launch, by `monotonicMs`. */
  readonly nextMs: number;
}

/**
 * Returns the namespaces that a cause affects, or undefined for all.
 * @param found namespaces with launches that show the cause
 */
export const affectedNamespaces = (cause: LaunchCause, found: ReadonlySet<string>): ReadonlySet<string> | undefined =>
  affectsEveryPod(cause) || found.size >= MOST_NAMESPACES ? undefined : found;

/** Reports whether the cause is probably a property of the NodePool, although it was not found for the namespace of the pod. */
export const isCommon = ({ namespaces }: Pick<CauseRecord, 'namespaces'>): boolean =>
  namespaces !== undefined && namespaces.size >= FEW_NAMESPACES;

export class PoolBudget {
  readonly #clock: Timepiece;
  readonly #random: (() => number) | undefined;
  readonly #records = new Map<string, CauseRecord>();
  readonly #shares = new Map<string, Share>();
  /** Allowances of a namespace without earlier launches. Fewer after a restart, which forgets the namespaces of the launches. */
  #usual: Allowances;
  #resetMs = Number.NEGATIVE_INFINITY;
  #isResetDue = false;

  constructor(clock: Timepiece, random?: () => number) {
    this.#clock = clock;
    this.#random = random;
    this.#usual = new Allowances(clock, ALLOWANCE_MS);
  }

  get records(): ReadonlyMap<string, CauseRecord> {
    this.#prune();
    return this.#records;
  }

  /** Returns the allowances for a trial. Uses the affected namespace that has the most allowances. */
  allowancesFor({ namespaces = ALL_TOGETHER }: Pick<CauseRecord, 'namespaces'>): Allowances {
    const all = [...namespaces].map((namespace) => this.shareOf(namespace).unproductive);
    return all.reduce((most, each) => (each.left > most.left ? each : most));
  }

  shareOf(namespace: string): Share {
    let share = this.#shares.get(namespace);
    if (share === undefined) {
      const abandoned = new Allowances(this.#clock, ABANDONED_MS);
      const unproductive = new Allowances(this.#clock, ALLOWANCE_MS, this.#usual.left);
      share = { unproductive, abandoned, abandonedNodes: 0, isWaiting: false };
      this.#shares.set(namespace, share);
    }
    return share;
  }

  /** Counts a launch for pods that were deleted before a pod was bound to the node. */
  abandoned(namespace: string): void {
    const share = this.shareOf(namespace);
    share.abandoned.take();
    share.abandonedNodes += 1;
  }

  /** Records that a launch for the namespace waits. */
  waits(namespace: string): void {
    const share = this.shareOf(namespace);
    share.isWaiting ||= share.abandoned.atOnce() < Number.POSITIVE_INFINITY;
  }

  /** Returns the namespaces whose launches wait because pods were deleted, until their allowances return. */
  abandonments(): readonly Abandonment[] {
    return [...this.#shares].flatMap(([namespace, share]) => {
      share.isWaiting &&= share.abandoned.atOnce() < Number.POSITIVE_INFINITY;
      if (!share.isWaiting) return [];
      return { namespace, nodes: share.abandonedNodes, nextMs: share.abandoned.atMs(1) };
    });
  }

  /** Counts a launch with a pod that is bound to its node. */
  used(namespace: string): void {
    this.shareOf(namespace).abandoned.giveBack(MOST_EARNED);
  }

  /** Counts a launch. Returns whether launches of affected pods begin to wait by that, and the cause that was forgotten. */
  failed({ cause, text, namespace, createdMs }: Unproductive): {
    readonly isHeld: boolean;
    readonly forgotten?: CauseRecord;
  } {
    const key = causeKey(cause);
    const nowMs = monotonicMs(this.#clock);
    const known = this.records.get(key);
    this.#pruneShares();
    const record = known ?? newRecord(cause, text, createdMs);
    record.namespaces &&= affectedNamespaces(cause, new Set([...record.namespaces, namespace]));
    record.cause = known === undefined ? cause : mergeCauses(known.cause, cause);
    record.text = text.length <= MOST_TEXT ? text : `${text.slice(0, MOST_TEXT).toWellFormed()}…`;
    record.nodes += 1;
    // the latest cause is the last one
    this.#records.delete(key);
    this.#records.set(key, record);
    // the node was launched before the outcome of the earlier launches was known
    if (createdMs < record.heldMs) return { isHeld: false };
    this.shareOf(record.namespaces === undefined ? '' : namespace).unproductive.take();
    record.failures += 1;
    const isHeld = record.times > 0 || record.failures >= ruleOf(cause).most;
    if (isHeld) this.#hold(record, nowMs);
    const forgotten = this.#records.size > MOST_CAUSES ? this.#forgetOldest() : undefined;
    return { isHeld, ...(forgotten && { forgotten }) };
  }

  #hold(record: CauseRecord, nowMs: number): void {
    const backOff = { baseMs: ruleOf(record.cause).firstMs, maxMs: LONGEST_BACK_OFF_MS };
    record.heldMs = nowMs;
    record.untilMs = nowMs + backOffMs(backOff, record.times, this.#random);
    record.times += 1;
  }

  #forgetOldest(): CauseRecord | undefined {
    const [oldest] = this.#records;
    if (oldest === undefined) return undefined;
    this.#records.delete(oldest[0]);
    return oldest[1];
  }

  /** Returns the allowance of a launch that was counted and serves a pod after all. */
  recovered(namespace: string): void {
    this.shareOf(namespace).unproductive.giveBack();
  }

  /** Adds the cost of a node that is gone. */
  spent(key: string, usd: number): void {
    const record = this.#records.get(key);
    if (record !== undefined) record.usd += usd;
  }

  /** A node that was created at the time is initialized: nodes join and last. Returns whether a cause is gone by that. */
  initialized(createdMs: number): boolean {
    return this.#clear(({ cause, firstCreatedMs }) => affectsEveryPod(cause) && createdMs >= firstCreatedMs);
  }

  /** A node that was created at the time serves the pod. Returns whether a cause is gone by that. */
  served(pod: Pod, createdMs: number): boolean {
    return this.#clear((record) => createdMs >= record.firstCreatedMs && isSubjectTo(record, pod));
  }

  /** The NodePool or its NodeClass was edited. Returns whether the causes are forgotten now; otherwise that follows. */
  edited(): boolean {
    this.#isResetDue = this.#records.size > 0;
    return this.#prune();
  }

  /** Continues the counts of an earlier process. */
  restore(records: readonly CauseRecord[]): void {
    for (const record of records.slice(0, MOST_CAUSES)) this.#records.set(causeKey(record.cause), record);
    const nodes = records.reduce((sum, record) => sum + record.nodes, 0);
    // the namespaces of the launches are not known, and pods of healthy namespaces must not wait
    this.#usual = new Allowances(this.#clock, ALLOWANCE_MS, Math.max(FEW_ALLOWANCES, MOST_ALLOWANCES - nodes));
  }

  /** Returns the state of a cause. A cause without failures may have suspects. */
  stateOf(cause: LaunchCause, { suspects, hasTrialSince }: UnderWay): CauseState {
    const record = this.records.get(causeKey(cause));
    const { failures = 0, times = 0, untilMs = 0, heldMs = 0 } = record ?? {};
    if (times === 0) return failures + suspects >= ruleOf(cause).most ? 'held' : 'open';
    if (monotonicMs(this.#clock) < untilMs || suspects > 0 || hasTrialSince(heldMs)) return 'held';
    return record !== undefined && this.allowancesFor(record).left >= TRIAL_ALLOWANCES ? 'due' : 'held';
  }

  /** Time of the next attempt, by `monotonicMs`. */
  nextAttemptMs(record: CauseRecord): number {
    return Math.max(record.untilMs, this.allowancesFor(record).atMs(TRIAL_ALLOWANCES));
  }

  /**
   * Returns how many nodes for unproven pods of a namespace may be under way together.
   * @param suspects number of nodes that show a cause and are not judged yet, by key of the cause
   */
  unprovenAtOnce(namespace: string, suspects: ReadonlyMap<string, number>): number {
    // further nodes that show a cause are not counted against the allowances
    const expected = [...suspects].reduce((sum, [key, count]) => {
      const { cause, failures = 0 } = this.#records.get(key) ?? {};
      const most = (cause === undefined ? OF_PODS : ruleOf(cause)).most - failures;
      return sum + Math.max(0, Math.min(count, most));
    }, 0);
    return this.shareOf(namespace).unproductive.atOnce(expected);
  }

  #clear(isGone: (record: CauseRecord) => boolean): boolean {
    const gone = [...this.#records].filter(([, record]) => isGone(record));
    for (const [key] of gone) this.#records.delete(key);
    return gone.length > 0;
  }

  /** Removes the shares of namespaces with the usual number of allowances. */
  #pruneShares(): void {
    for (const [namespace, { unproductive, abandoned }] of this.#shares)
      if (unproductive.left === MOST_ALLOWANCES && abandoned.left === MOST_ALLOWANCES) this.#shares.delete(namespace);
  }

  /** Forgets causes that did not fail for long, and all causes if an edit was made and may have that effect now. */
  #prune(): boolean {
    const nowMs = monotonicMs(this.#clock);
    if (this.#isResetDue && nowMs - this.#resetMs >= RESET_MS) {
      this.#isResetDue = false;
      this.#resetMs = nowMs;
      return this.#clear(() => true);
    }
    return this.#clear(
      ({ untilMs, firstCreatedMs }) => nowMs - Math.max(untilMs, firstCreatedMs) > 2 * LONGEST_BACK_OFF_MS,
    );
  }
}

const newRecord = (cause: LaunchCause, text: string, firstCreatedMs: number): CauseRecord => ({
  cause,
  text,
  firstCreatedMs,
  namespaces: affectsEveryPod(cause) ? undefined : new Set<string>(),
  nodes: 0,
  usd: 0,
  failures: 0,
  times: 0,
  heldMs: Number.NEGATIVE_INFINITY,
  untilMs: Number.NEGATIVE_INFINITY,
});
