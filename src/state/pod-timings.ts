/**
 * Times at which the provisioner first saw each pod, first decided on it, and first could place it. Keys are `namespace/name`,
 * and times are epoch milliseconds.
 */

export interface PodTiming {
  /** First seen provisionable. */
  readonly acknowledgedMs?: number;
  /** First scheduling decision, successful or not. */
  readonly decidedMs?: number;
  /** First successful simulation that is still valid. */
  readonly schedulableMs?: number;
  /** First successful simulation that is still valid, on a NodePool whose nodes are known to register. */
  readonly healthySchedulableMs?: number;
  /** NodeClaim that was created for this pod. */
  readonly nodeClaim?: string;
}

const NONE: PodTiming = {};

export class PodTimings {
  readonly #timings = new Map<string, PodTiming>();

  get(pod: string): PodTiming {
    return this.#timings.get(pod) ?? NONE;
  }

  entries(): IterableIterator<[string, PodTiming]> {
    return this.#timings.entries();
  }

  acknowledge(pod: string, nowMs: number): void {
    const known = this.get(pod);
    if (known.acknowledgedMs === undefined) this.#timings.set(pod, { ...known, acknowledgedMs: nowMs });
  }

  /**
   * Returns the milliseconds from acknowledgement to this decision if it is the pod's first decision, and undefined otherwise.
   */
  refused(pod: string, nowMs: number): number | undefined {
    const { acknowledgedMs, decidedMs } = this.get(pod);
    this.#timings.set(pod, {
      ...(acknowledgedMs === undefined ? {} : { acknowledgedMs }),
      decidedMs: decidedMs ?? nowMs,
    });
    return firstDecision(acknowledgedMs, decidedMs, nowMs);
  }

  /**
   * Records a placement. Returns the same as `refused`. `healthy` is true if nodes of the pod's NodePool are known to register.
   */
  placed(pod: string, healthy: boolean, nowMs: number): number | undefined {
    const { healthySchedulableMs, ...known } = this.get(pod);
    this.#timings.set(pod, {
      ...known,
      schedulableMs: known.schedulableMs ?? nowMs,
      decidedMs: known.decidedMs ?? nowMs,
      ...(healthy ? { healthySchedulableMs: healthySchedulableMs ?? nowMs } : {}),
    });
    return firstDecision(known.acknowledgedMs, known.decidedMs, nowMs);
  }

  assign(pod: string, nodeClaim: string): void {
    this.#timings.set(pod, { ...this.get(pod), nodeClaim });
  }

  forget(pod: string): void {
    this.#timings.delete(pod);
  }
}

const firstDecision = (
  acknowledgedMs: number | undefined,
  decidedMs: number | undefined,
  nowMs: number,
): number | undefined =>
  acknowledgedMs === undefined || decidedMs !== undefined ? undefined : Math.max(0, nowMs - acknowledgedMs);
