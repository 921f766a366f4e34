/**
 * Trace of a disruption command, from its decision until its last node is gone:
 *
 *   disrupt nodes ┬ provision node, one for each replacement, with all its spans
 *                 ├ replacements
 *                 └ terminate node, one for each candidate
 */
import { uidOf } from '#api/objects';
import { billedSavingsOf, type Command, decisionOf } from '#engine/disruption';
import type { Span, Tracer } from '#observe/traces';
import { OUTCOME, REASON } from './attributes.ts';

export class CommandTrace {
  readonly span: Span;
  readonly #tracer: Tracer;
  #replacements: Span | undefined;
  /** UIDs of the NodeClaims that are not deleted yet. */
  readonly #staying: Set<string>;

  constructor(tracer: Tracer, command: Command, nowMs: number) {
    const { candidates, replacements, reason } = command;
    const pools = [...new Set(candidates.map(({ nodePool }) => nodePool.metadata.name))];
    this.#tracer = tracer;
    this.#staying = new Set(candidates.map(({ nodeClaim }) => uidOf(nodeClaim)));
    this.span = tracer.start('disrupt nodes', {
      atMs: nowMs,
      attributes: {
        [REASON]: reason,
        'karpenter.decision': decisionOf(command),
        'karpenter.nodepool.name': pools.join(','),
        'karpenter.candidates': candidates.length,
        'karpenter.replacements': replacements.length,
        'karpenter.savings_usd_per_hour': billedSavingsOf(command),
      },
    });
  }

  /** UIDs of the candidates' NodeClaims that are not deleted yet. */
  get staying(): ReadonlySet<string> {
    return this.#staying;
  }

  /** Records that the candidates are marked, as far as possible, and that the replacements are created. */
  started({ candidates, replacements }: Command, nowMs: number): void {
    const marked = new Set(candidates.map(({ nodeClaim }) => uidOf(nodeClaim)));
    for (const uid of this.#staying) if (!marked.has(uid)) this.#staying.delete(uid);
    if (replacements.length > 0)
      this.#replacements = this.#tracer.start('replacements', { atMs: nowMs, parent: this.span });
  }

  /** Records that the replacements are ready, so the candidates may be deleted. */
  replaced(nowMs: number): void {
    this.#replacements?.end(nowMs);
    this.#replacements = undefined;
  }

  /** Records that a candidate is gone. Returns true if it was the last candidate. */
  gone(claimUid: string): boolean {
    this.#staying.delete(claimUid);
    return this.#staying.size === 0;
  }

  end(
    nowMs: number,
    outcome: 'carried out' | 'failed' | 'not waited for' | 'operator stopped',
    failure?: string,
  ): void {
    this.#replacements?.end(nowMs, failure);
    this.span.set({ [OUTCOME]: outcome });
    this.span.end(nowMs, failure);
  }
}
