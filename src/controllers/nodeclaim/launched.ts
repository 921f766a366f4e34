/**
 * Launched instances that their NodeClaims do not show yet, by UID of the NodeClaim. After a failed status write, the operator
 * must write again instead of launching a second instance.
 */
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { uidOf } from '../../api/object-fields.ts';
import { monotonicMs, type Timepiece } from '../../lib/clock.ts';

const KEEP_MS = 60 * 60_000;

export class LaunchedInstances {
  readonly #clock: Timepiece;
  readonly #byUid = new Map<string, { readonly created: NodeClaim; readonly sinceMs: number }>();

  constructor(clock: Timepiece) {
    this.#clock = clock;
  }

  get(claim: NodeClaim): NodeClaim | undefined {
    const known = this.#byUid.get(uidOf(claim));
    return known && monotonicMs(this.#clock) - known.sinceMs <= KEEP_MS ? known.created : undefined;
  }

  remember(claim: NodeClaim, created: NodeClaim): void {
    const nowMs = monotonicMs(this.#clock);
    for (const [uid, { sinceMs }] of this.#byUid) if (nowMs - sinceMs > KEEP_MS) this.#byUid.delete(uid);
    this.#byUid.set(uidOf(claim), { created, sinceMs: nowMs });
  }

  forget(claim: NodeClaim): void {
    this.#byUid.delete(uidOf(claim));
  }
}
