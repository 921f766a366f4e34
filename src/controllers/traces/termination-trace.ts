/** How a node that was bought goes away: its pods leave, its volumes are detached, its instance is terminated. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { Span, Tracer } from '../../observe/traces/tracer.ts';
import { instanceAttributes, OUTCOME, REASON } from './attributes.ts';

/** The steps in their order, with the condition that says when one is over. The last ends with the NodeClaim. */
const STEPS: readonly { readonly name: string; readonly condition?: string }[] = [
  { name: 'drain', condition: 'Drained' },
  { name: 'detach volumes', condition: 'VolumesDetached' },
  { name: 'terminate instance' },
];
const LAST = STEPS.length - 1;

export class TerminationTrace {
  readonly #tracer: Tracer;
  readonly #root: Span;
  #step: { readonly at: number; readonly span: Span };

  /** @param parent the command that takes the node away; undefined when something else does */
  constructor(tracer: Tracer, claim: NodeClaim, nowMs: number, parent: Span | undefined) {
    this.#tracer = tracer;
    this.#root = tracer.start('terminate node', {
      atMs: nowMs,
      parent,
      attributes: { ...instanceAttributes(claim), [REASON]: getCondition(claim, 'DisruptionReason')?.reason },
    });
    // an instance that never joined has nothing to drain
    this.#step = this.#begin(isTrue(claim, 'Registered') ? 0 : LAST, nowMs);
    this.changed(claim, nowMs);
  }

  changed(claim: NodeClaim, nowMs: number): void {
    while (isOver(claim, STEPS[this.#step.at]?.condition)) {
      this.#step.span.end(nowMs);
      this.#step = this.#begin(this.#step.at + 1, nowMs);
    }
  }

  end(nowMs: number, outcome: 'terminated' | 'not waited for' | 'operator stopped'): void {
    this.#step.span.end(nowMs);
    this.#root.set({ [OUTCOME]: outcome });
    this.#root.end(nowMs);
  }

  #begin(at: number, nowMs: number): { readonly at: number; readonly span: Span } {
    return { at, span: this.#tracer.start(STEPS[at]?.name ?? '', { atMs: nowMs, parent: this.#root }) };
  }
}

function isOver(claim: NodeClaim, condition: string | undefined): boolean {
  const status = condition && getCondition(claim, condition)?.status;
  return status === 'True' || status === 'False';
}
