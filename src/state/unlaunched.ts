/**
 * Claims without an instance. Decisions wait for a launch in progress, because the size and zone of its instance are not known
 * yet. Decisions do not wait for a launch that failed and is retried, or that takes long. In this case, the claim counts with its
 * current data. The pods of the claim stay assigned to it until it has an instance or is deleted.
 */
import { getCondition, type NodeClaim } from '#api/objects';
import { monotonicMs, type Timepiece } from '#lib/clock';

/** Maximum wait of decisions for one launch. */
export const LONGEST_WAIT_MS = 60_000;
const NOT_TRIED = 'AwaitingReconciliation';

export interface OverdueClaim {
  readonly claim: NodeClaim;
  /**
   * Namespaced names of the pods that this claim was created for; undefined if an earlier process created the claim.
   */
  readonly pods: ReadonlySet<string> | undefined;
}

const hasFailed = (claim: NodeClaim): boolean => {
  const { status, reason = NOT_TRIED } = getCondition(claim, 'Launched') ?? {};
  return status !== undefined && status !== 'True' && reason !== NOT_TRIED;
};

export class UnlaunchedClaims {
  readonly #clock: Timepiece;
  /** Waiting claims by name, with the time of their first appearance by `monotonicMs`. */
  readonly #waiting = new Map<string, { readonly claim: NodeClaim; readonly sinceMs: number }>();
  /** Pods by the name of their claim, from its creation until it is launched or deleted. */
  readonly #pods = new Map<string, ReadonlySet<string>>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  /** Records the pods that a claim was created for. */
  created(name: string, pods: readonly string[]): void {
    this.#pods.set(name, new Set(pods));
  }

  /** Adds a claim without an instance, or updates its version. */
  put(claim: NodeClaim): void {
    const { name } = claim.metadata;
    const sinceMs = this.#waiting.get(name)?.sinceMs ?? monotonicMs(this.#clock);
    this.#waiting.set(name, { claim, sinceMs });
  }

  /** Removes a claim that has an instance or does not exist. */
  forget(name: string): void {
    this.#waiting.delete(name);
    this.#pods.delete(name);
  }

  /** Returns true if decisions must wait for a launch in progress. */
  get isAwaited(): boolean {
    return [...this.#waiting.values()].some((waiting) => !this.#isOverdue(waiting));
  }

  overdue(): readonly OverdueClaim[] {
    return [...this.#waiting.values()].filter((waiting) => this.#isOverdue(waiting)).map(this.#withPods);
  }

  /** Returns all claims without an instance, for decisions that cannot wait for launches in progress. */
  all(): readonly OverdueClaim[] {
    return [...this.#waiting.values()].map(this.#withPods);
  }

  /** Returns the overdue claims by the pods that stay assigned to them. */
  overdueClaimsByPod(): ReadonlyMap<string, NodeClaim> {
    const staying = this.overdue().filter(({ claim }) => claim.metadata.deletionTimestamp === undefined);
    return new Map(staying.flatMap(({ claim, pods = [] }) => [...pods].map((pod) => [pod, claim] as const)));
  }

  /**
   * Returns the namespaced names of the pods that stay assigned to overdue claims. No further nodes must be launched for them.
   */
  podsOfOverdueClaims(): ReadonlySet<string> {
    return new Set(this.overdueClaimsByPod().keys());
  }

  readonly #withPods = ({ claim }: { readonly claim: NodeClaim }): OverdueClaim => ({
    claim,
    pods: this.#pods.get(claim.metadata.name),
  });

  #isOverdue({ claim, sinceMs }: { readonly claim: NodeClaim; readonly sinceMs: number }): boolean {
    return hasFailed(claim) || monotonicMs(this.#clock) - sinceMs >= LONGEST_WAIT_MS;
  }
}
