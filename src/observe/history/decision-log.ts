/**
 * Decisions of the operator and their observed effects, latest last. The number of entries is limited. Objects are stored only
 * by name.
 */
import { LRUCache } from 'lru-cache';
import { Fleet, type FleetChange, type FleetSize } from './fleet.ts';

interface Entry {
  /** RFC 3339. */
  readonly at: string;
  /** Nodes before and after the decision. Absent if the decision changes no node, and while the prices are unknown. */
  readonly before?: FleetSize;
  readonly after?: FleetSize;
}

/** A NodeClaim was created. */
export interface Bought extends Entry {
  readonly kind: 'bought';
  readonly nodeClaim: string;
  readonly nodePool: string;
  /** `provisioned` for pending pods, otherwise the reason for replacing a node, such as `underutilized`. */
  readonly reason: string;
  /** Number of pods that this NodeClaim was created for. */
  readonly pods: number;
  /** Names of the first few pods, as `namespace/name`. */
  readonly examples: readonly string[];
  /** Planned price of the cheapest instance type. */
  readonly usdPerHour: number;
  /** Expected price of the surplus CPU for the requests of its pods, in addition. Absent if it is 0. */
  readonly surplusCreditsUsdPerHour?: number;
  /** Launched instance type; absent before the launch. */
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: string;
  /** Namespaces of its pods. */
  readonly namespaces?: readonly string[];
  /** Name of its node, and the time at which the node could run pods. Absent before this time. */
  readonly node?: string;
  readonly joinedAt?: string;
}

/** A disruption command was executed: its nodes are deleted. */
export interface Disrupted extends Entry {
  readonly kind: 'disrupted';
  readonly id: string;
  readonly method: string;
  readonly decision: 'delete' | 'replace';
  /** Disruption reason, such as `underutilized`. */
  readonly reason: string;
  /** Description of the executed command. */
  readonly command: string;
  readonly nodePools: readonly string[];
  /** Names of the first deleted NodeClaims and of their nodes. */
  readonly nodeClaims?: readonly string[];
  readonly nodeNames?: readonly string[];
  /** Namespaces of the pods that had to move. */
  readonly namespaces?: readonly string[];
  readonly nodes: number;
  readonly replacements: number;
  /** Number of pods that had to move. */
  readonly pods: number;
  /** Predicted reduction of the cost. */
  readonly predictedUsdPerHour: number;
  /** Outcome during the observation time of a consolidation. Absent for other commands and before the end of this time. */
  readonly outcome?: MoveOutcome;
}

export interface MoveOutcome {
  readonly predictedUsd: number;
  readonly realisedUsd: number;
  /** Reason why the consolidation did not last. */
  readonly undone?: string;
}

/** A NodeClaim was deleted individually: it expired, its node was unhealthy, its instance did not exist, or a user deleted it. */
export interface Deleted extends Entry {
  readonly kind: 'deleted';
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly reason: string;
  readonly pods: number;
  readonly node?: string;
  /** Namespaces of its pods. */
  readonly namespaces?: readonly string[];
}

/** AWS interrupts an instance, or is about to stop it. */
export interface Interrupted extends Entry {
  readonly kind: 'interrupted';
  readonly nodeClaim: string;
  readonly nodePool: string;
  /** Reason of this interruption, such as `spot_interrupted`. */
  readonly reason: string;
  readonly pods: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
  readonly node?: string;
  /** Namespaces of its pods. */
  readonly namespaces?: readonly string[];
}

/** No NodePool can launch a node for pods. Recorded once for all pods with the same cause. */
export interface Refused extends Entry {
  readonly kind: 'refused';
  /** Code of the cause, such as `taint`. */
  readonly code: string;
  readonly text: string;
  /** NodePools that reject the pods. */
  readonly nodePools: readonly string[];
  readonly namespaces: readonly string[];
  readonly pods: number;
  readonly examples: readonly string[];
}

/** Launches of a NodePool are held back, because nodes of the same cause served no pod. */
export interface Held extends Entry {
  readonly kind: 'held';
  readonly nodePool: string;
  /** Code of the cause, such as `never-joined`. */
  readonly reason: string;
  readonly text: string;
  /** Time of the next attempt. RFC 3339. */
  readonly until: string;
}

/** Nodes are marked, so that kube-scheduler fills them last. Successive marks are one entry. */
export interface Emptying extends Entry {
  readonly kind: 'emptying';
  /** Number of marked nodes now. */
  readonly nodes: number;
  readonly nodePools: readonly string[];
  readonly nodeNames: readonly string[];
}

/** A replica of the operator has become the leader. */
export interface Led extends Entry {
  readonly kind: 'leader';
  /** Host name of the replica, which is the name of its pod. */
  readonly replica: string;
  readonly version: string;
}

/** A pause has started, was changed, or has ended. */
export interface Paused extends Entry {
  readonly kind: 'pause';
  readonly scope: string;
  /** Sentence with the scope, the end and the reason. Empty at the end of the pause. */
  readonly text: string;
}

/** The instance of an unhealthy node is rebooted. */
export interface Rebooted extends Entry {
  readonly kind: 'rebooted';
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly node: string;
  /** Condition and status of the node. */
  readonly text: string;
}

/** A decision on an observed NodePool, which is not carried out. */
export interface Observed extends Entry {
  readonly kind: 'observed';
  readonly decision: 'launch' | 'delete' | 'replace';
  /** Reason, such as `provisioned` or `underutilized`. */
  readonly reason: string;
  /** Sentence such as `would launch m5.large for 3 pods at $0.0960 an hour`. */
  readonly text: string;
  readonly nodePools: readonly string[];
  /** Names of the first NodeClaims and nodes of the decision. */
  readonly nodeClaims?: readonly string[];
  readonly nodeNames?: readonly string[];
  readonly namespaces?: readonly string[];
  readonly pods: number;
  /** Change of the cost. Negative if it would decrease. */
  readonly usdPerHour: number;
}

export type LoggedDecision =
  | Bought
  | Disrupted
  | Deleted
  | Rebooted
  | Interrupted
  | Refused
  | Held
  | Emptying
  | Paused
  | Observed
  | Led;

/** Maximum number of entries: seven days with 700 decisions a day. A stored entry has about 40 bytes. */
export const MOST_DECISIONS = 5_000;
/** Maximum number of names in a list of an entry. */
export const MOST_NAMES = 20;
/** Maximum number of removed NodeClaims that are remembered, more than a cluster loses during a drain. */
const MOST_REMOVED = 20_000;
/** Longest time between the first and the last mark of nodes of one entry, in milliseconds. */
const ONE_EMPTYING_MS = 10 * 60_000;

/** Returns the namespaces of pods with names as `namespace/name`. */
export const namespacesOf = (pods: readonly string[]): readonly string[] =>
  [...new Set(pods.map((pod) => pod.slice(0, pod.indexOf('/'))))].sort().slice(0, MOST_NAMES);

export class DecisionLog {
  readonly fleet = new Fleet();
  #entries: LoggedDecision[] = [];
  readonly #removed = new LRUCache<string, true>({ max: MOST_REMOVED });
  #changes = 0;

  /** Increases with each change, so that callers can detect changes. */
  get changes(): number {
    return this.#changes;
  }

  /** Oldest first. */
  get entries(): readonly LoggedDecision[] {
    return this.#entries;
  }

  /** @param change NodeClaims that the decision adds or removes */
  record(entry: LoggedDecision, change?: FleetChange): void {
    const effect = change && this.fleet.apply(change);
    for (const name of change?.removed ?? []) this.#removed.set(name, true);
    this.#entries.push(effect === undefined ? entry : { ...entry, ...effect });
    if (this.#entries.length > MOST_DECISIONS) this.#entries.shift();
    this.#changes += 1;
  }

  /** Records marks of nodes. If the last entry has recent marks, it is replaced. */
  marked(entry: Emptying): void {
    const last = this.#entries.at(-1);
    const isSame = last?.kind === 'emptying' && Date.parse(entry.at) - Date.parse(last.at) < ONE_EMPTYING_MS;
    if (isSame) this.#entries.pop();
    this.record(isSame ? { ...entry, at: last.at } : entry);
  }

  /** Returns true if a decision of this process removed the NodeClaim. */
  hasRemoved(nodeClaim: string): boolean {
    return this.#removed.has(nodeClaim);
  }

  /** Adds the launched instance to the entry of a NodeClaim. */
  launched(nodeClaim: string, what: Pick<Bought, 'instanceType' | 'zone' | 'capacityType'>): void {
    this.#replace((entry) => entry.kind === 'bought' && entry.nodeClaim === nodeClaim, what);
  }

  /** Adds the node to the entry of its NodeClaim. Nodes that are initialized again keep their first time. */
  joined(nodeClaim: string, what: { readonly node: string; readonly joinedAt: string }): void {
    this.#replace(
      (entry) => entry.kind === 'bought' && entry.nodeClaim === nodeClaim && entry.joinedAt === undefined,
      what,
    );
  }

  /** Adds the outcome to the entry of a command. */
  ended(id: string, outcome: MoveOutcome): void {
    this.#replace((entry) => entry.kind === 'disrupted' && entry.id === id, { outcome });
  }

  /** Inserts the decisions of an earlier process before the decisions of this process. */
  restore(entries: readonly LoggedDecision[]): void {
    this.#entries = [...entries, ...this.#entries].slice(-MOST_DECISIONS);
  }

  /** Updates an entry. Searches from the end, because most updates concern recent entries. */
  #replace(isMeant: (entry: LoggedDecision) => boolean, more: Partial<LoggedDecision>): void {
    const at = this.#entries.findLastIndex(isMeant);
    const entry = this.#entries[at];
    if (entry === undefined) return;
    this.#entries[at] = { ...entry, ...more } as LoggedDecision;
    this.#changes += 1;
  }
}
