/**
 * Decisions of the operator, latest last: launches, disruptions, and instances that AWS interrupted. The number of entries is
 * limited. Objects are stored only by name.
 */

/** A NodeClaim was created. */
export interface Bought {
  readonly kind: 'bought';
  /** RFC 3339. */
  readonly at: string;
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
  /** Expected price of the surplus CPU credits for the requests of its pods, in addition. Absent if it is 0. */
  readonly surplusCreditsUsdPerHour?: number;
  /** Launched instance type; absent before the launch. */
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: string;
}

/** A disruption command was executed: its nodes are deleted. */
export interface Disrupted {
  readonly kind: 'disrupted';
  readonly at: string;
  readonly id: string;
  readonly method: string;
  readonly decision: 'delete' | 'replace';
  /** Disruption reason, such as `underutilized`. */
  readonly reason: string;
  /** Description of the executed command. */
  readonly command: string;
  readonly nodePools: readonly string[];
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

/** A NodeClaim was deleted individually: it expired, its node was unhealthy, or its instance did not exist. */
export interface Deleted {
  readonly kind: 'deleted';
  readonly at: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly reason: string;
  readonly pods: number;
}

/** AWS interrupts an instance, or is about to stop it. */
export interface Interrupted {
  readonly kind: 'interrupted';
  readonly at: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  /** Reason of this interruption, such as `spot_interrupted`. */
  readonly reason: string;
  readonly pods: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
}

export type LoggedDecision = Bought | Disrupted | Deleted | Interrupted;

/** Maximum number of entries. An entry has about 300 bytes. */
export const MOST_DECISIONS = 2_000;

export class DecisionLog {
  #entries: LoggedDecision[] = [];
  #changes = 0;

  /** Increases with each change, so that callers can detect changes. */
  get changes(): number {
    return this.#changes;
  }

  /** Oldest first. */
  get entries(): readonly LoggedDecision[] {
    return this.#entries;
  }

  record(entry: LoggedDecision): void {
    this.#entries.push(entry);
    if (this.#entries.length > MOST_DECISIONS) this.#entries.shift();
    this.#changes += 1;
  }

  /** Adds the launched instance to the entry of a NodeClaim. */
  launched(nodeClaim: string, what: Pick<Bought, 'instanceType' | 'zone' | 'capacityType'>): void {
    this.#replace((entry) => entry.kind === 'bought' && entry.nodeClaim === nodeClaim, what);
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
