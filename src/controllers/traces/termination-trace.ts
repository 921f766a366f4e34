/** Trace of a node termination: drain, detachment of volumes, and termination of the instance. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import type { Span, Tracer } from '../../observe/traces/tracer.ts';
import { instanceAttributes, OUTCOME, REASON } from './attributes.ts';

/** Steps in their order, with the condition that ends each step. The last step ends with the NodeClaim. */
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

  /** @param parent span of the command that disrupts the node; undefined for other reasons */
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
