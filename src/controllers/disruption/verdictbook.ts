/** What the disruption methods said last of every node. */
import type { Method, MethodResult } from '../../engine/disruption/method.ts';
import { type Review, type Verdict, verdictsOf } from '../../engine/disruption/verdicts.ts';
import type { StateNode } from '../../engine/model.ts';

const NOTHING: MethodResult = { commands: [], exhausted: true, notes: [] };

export class VerdictBook {
  readonly #reviews = new Map<string, Review>();

  /** Enters what a method says now. Without findings it was not asked anew, since nothing has changed: its last hold. */
  enter({ findings, ...review }: Omit<Review, 'findings'> & { readonly findings?: MethodResult | undefined }): void {
    const { name } = review.method;
    this.#reviews.set(name, { ...review, findings: findings ?? this.#reviews.get(name)?.findings ?? NOTHING });
  }

  /** A command that did not stand the test of time leaves its candidates where they are. */
  withdraw({ name }: Method, providerIds: readonly string[], text: string): void {
    const review = this.#reviews.get(name);
    if (review === undefined) return;
    const gone = new Set(providerIds);
    const { commands, reasons = new Map(), ...rest } = review.findings;
    const kept = commands.filter(({ candidates }) => !candidates.some(({ providerId }) => gone.has(providerId)));
    const changed = providerIds.map((id) => [id, { code: 'changed', text }] as const);
    this.#reviews.set(name, {
      ...review,
      findings: { ...rest, commands: kept, reasons: new Map([...reasons, ...changed]) },
    });
  }

  /** In the order in which the methods are asked. */
  verdicts(nodes: readonly StateNode[], nowMs: number): readonly Verdict[] {
    return verdictsOf(nodes, [...this.#reviews.values()], nowMs);
  }
}
