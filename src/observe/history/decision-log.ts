/**
 * What the operator has decided, latest last: what it bought, what it gave back, what was taken from it. Bounded; of
 * objects only names are kept.
 */

/** A NodeClaim was created. */
export interface Bought {
  readonly kind: 'bought';
  /** RFC 3339. */
  readonly at: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  /** `provisioned` for pending pods, else why a node is replaced, such as `underutilized`. */
  readonly reason: string;
  /** Number of pods that it was made for. */
  readonly pods: number;
  /** `namespace/name` of the first few. */
  readonly examples: readonly string[];
  /** Planned price of the cheapest instance type. */
  readonly usdPerHour: number;
  /** What was launched; absent before that. */
  readonly instanceType?: string;
  readonly zone?: string;
  readonly capacityType?: string;
}

/** A command of disruption was carried out: its nodes are deleted. */
export interface Disrupted {
  readonly kind: 'disrupted';
  readonly at: string;
  readonly id: string;
  readonly method: string;
  readonly decision: 'delete' | 'replace';
  /** Such as `underutilized`. */
  readonly reason: string;
  /** What was done, in words. */
  readonly command: string;
  readonly nodePools: readonly string[];
  readonly nodes: number;
  readonly replacements: number;
  /** Pods that had to move. */
  readonly pods: number;
  /** What the nodes cost less from then on. */
  readonly predictedUsdPerHour: number;
  /** What became of it in the time for which moves are watched; only of consolidation, and absent before that. */
  readonly outcome?: MoveOutcome;
}

export interface MoveOutcome {
  readonly predictedUsd: number;
  readonly realisedUsd: number;
  /** Why it did not last. */
  readonly undone?: string;
}

/** A NodeClaim was deleted for a reason of its own: it expired, its node was unhealthy, its instance was gone. */
export interface Deleted {
  readonly kind: 'deleted';
  readonly at: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  readonly reason: string;
  readonly pods: number;
}

/** AWS takes an instance back, or is about to stop it. */
export interface Interrupted {
  readonly kind: 'interrupted';
  readonly at: string;
  readonly nodeClaim: string;
  readonly nodePool: string;
  /** Such as `spot_interrupted`. */
  readonly reason: string;
  readonly pods: number;
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: string;
}

export type LoggedDecision = Bought | Disrupted | Deleted | Interrupted;

/** Entries that are kept; about 300 bytes each. */
export const MOST_DECISIONS = 2_000;

export class DecisionLog {
  #entries: LoggedDecision[] = [];
  #changes = 0;

  /** Grows with each change, so that somebody can see whether there was one. */
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

  /** Enters what was launched for a NodeClaim. */
  launched(nodeClaim: string, what: Pick<Bought, 'instanceType' | 'zone' | 'capacityType'>): void {
    this.#replace((entry) => entry.kind === 'bought' && entry.nodeClaim === nodeClaim, what);
  }

  /** Enters what became of a command. */
  ended(id: string, outcome: MoveOutcome): void {
    this.#replace((entry) => entry.kind === 'disrupted' && entry.id === id, { outcome });
  }

  /** Puts what an earlier process had decided before what this one has. */
  restore(entries: readonly LoggedDecision[]): void {
    this.#entries = [...entries, ...this.#entries].slice(-MOST_DECISIONS);
  }

  /** The entry that is looked for is mostly among the latest. */
  #replace(isMeant: (entry: LoggedDecision) => boolean, more: Partial<LoggedDecision>): void {
    const at = this.#entries.findLastIndex(isMeant);
    const entry = this.#entries[at];
    if (entry === undefined) return;
    this.#entries[at] = { ...entry, ...more } as LoggedDecision;
    this.#changes += 1;
  }
}
