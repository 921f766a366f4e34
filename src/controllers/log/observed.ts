/** Records the start of this leader, and NodeClaims that other clients delete. */
import { hostname } from 'node:os';
import { getCondition, type NodeClaim } from '#api/objects';
import { after, type Outcome, type Singleton } from '#kube/reconcilers';
import { timestamp } from '#lib';
import type { Deps } from '../deps.ts';
import { logRemoval, type Removal, removalOf, reschedulablePods } from '../disrupted.ts';

const INTERVAL_MS = 5_000;
/** The operator records its own deletions within this time. */
const OWN_MS = 5_000;
/** Reason of NodeClaims that a user or another controller deleted. */
const EXTERNAL = 'external';

/** Time of judged NodeClaims, which stay in the list until their end. */
const JUDGED = Number.NEGATIVE_INFINITY;

export class Observed implements Singleton {
  readonly name = 'decisions';
  readonly singleton = true;
  readonly #deps: Deps;
  /** Deleted NodeClaims by name, from their deletion to their end. */
  readonly #ending = new Map<string, { readonly atMs: number; readonly removal: Removal; readonly claim: NodeClaim }>();
  #isStarted = false;

  constructor(deps: Deps) {
    this.#deps = deps;
    deps.cluster.stores.nodeClaims.subscribe((event, claim) => {
      const { name, deletionTimestamp } = claim.metadata;
      if (event !== 'updated' || deletionTimestamp === undefined || this.#ending.has(name) || !this.#isStarted) return;
      // now, because the drain evicts its pods
      const removal = { ...removalOf(deps, claim), reason: EXTERNAL, pods: reschedulablePods(deps, claim) };
      this.#ending.set(name, { atMs: deps.clock.now(), removal, claim });
    });
  }

  async reconcile(): Promise<Outcome> {
    const { clock, cluster, decisions, version = '' } = this.#deps;
    const nowMs = clock.now();
    if (!this.#isStarted) {
      this.#isStarted = true;
      decisions?.record({ kind: 'leader', at: timestamp(nowMs), replica: hostname(), version });
    }
    for (const [name, { atMs, removal, claim }] of this.#ending) {
      if (atMs === JUDGED) {
        if (cluster.claim(name) === undefined) this.#ending.delete(name);
        continue;
      }
      if (nowMs - atMs < OWN_MS) continue;
      this.#ending.set(name, { atMs: JUDGED, removal, claim });
      // the time of the record, so that the numbers of nodes of successive entries agree
      if (this.#isExternal(claim)) logRemoval(this.#deps, removal);
    }
    return after(INTERVAL_MS);
  }

  #isExternal(claim: NodeClaim): boolean {
    const { cluster, decisions } = this.#deps;
    const { name } = claim.metadata;
    if (cluster.deletionReasons.has(name) || decisions?.hasRemoved(name) !== false) return false;
    return getCondition(claim, 'DisruptionReason')?.status !== 'True';
  }
}
