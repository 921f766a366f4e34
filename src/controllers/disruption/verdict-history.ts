/** Last verdicts of the disruption methods on each node. */
import type { Method, MethodResult } from '../../engine/disruption/method.ts';
import { type MethodReview, type Verdict, verdictsOf } from '../../engine/disruption/verdicts.ts';
import type { StateNode } from '../../engine/model.ts';

const NOTHING: MethodResult = { commands: [], exhausted: true, events: [] };

export class VerdictHistory {
  readonly #reviews = new Map<string, MethodReview>();

  /**
   * Records the review of a method. Without a result, the method did not run because its input has not changed, so its last
   * result remains valid.
   */
  record({ result, ...review }: Omit<MethodReview, 'result'> & { readonly result?: MethodResult | undefined }): void {
    const { name } = review.method;
    this.#reviews.set(name, { ...review, result: result ?? this.#reviews.get(name)?.result ?? NOTHING });
  }

  /** Removes the commands for nodes from the last result after a failed validation. */
  withdraw({ name }: Method, providerIds: readonly string[], text: string): void {
    const review = this.#reviews.get(name);
    if (review === undefined) return;
    const gone = new Set(providerIds);
    const { commands, reasons = new Map(), ...rest } = review.result;
    const kept = commands.filter(({ candidates }) => !candidates.some(({ providerId }) => gone.has(providerId)));
    const changed = providerIds.map((id) => [id, { code: 'changed', text }] as const);
    this.#reviews.set(name, {
      ...review,
      result: { ...rest, commands: kept, reasons: new Map([...reasons, ...changed]) },
    });
  }

  /** Returns the verdicts, in the execution order of the methods. */
  verdicts(nodes: readonly StateNode[], nowMs: number): readonly Verdict[] {
    return verdictsOf(nodes, [...this.#reviews.values()], nowMs);
  }
}
