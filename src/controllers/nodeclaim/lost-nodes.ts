/**
 * Deletes registered NodeClaims if their Node was removed without a drain, for example if a user removed its finalizer. A kubelet
 * creates its Node only when it starts, so this instance runs no further pods. See docs/decisions/0051.
 */
import { isTrue, NODE, NODE_CLAIM, type NodeClaim, uidOf } from '#api/objects';
import { formatDuration } from '#api/values';
import { isActive, USUAL_JOIN_MS } from '#engine/model';
import { deleteExactly } from '#kube/client';
import { after, type Outcome, type ReconcileContext, type Singleton } from '#kube/reconcilers';
import { withBoundedConcurrency } from '#lib';
import { CollectionBrake, monotonicMs, mostAtOnce } from '#lib/clock';
import { NODE_LOST } from '#observe/events';
import type { Logger } from '#observe/logger';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted } from '../disrupted.ts';
import { listPodsOnNode } from '../listed-pods.ts';

const INTERVAL_MS = 30_000;
/** Time in which a kubelet that restarts must register again. An instance that boots usually joins within this time. */
const GRACE_MS = USUAL_JOIN_MS;
/** Time that each NodeClaim waits if many Nodes were removed, as for instances without NodeClaims. */
const HOLD_MS = 60 * 60_000;
const AT_ONCE = 20;

/** Registered NodeClaim without a Node. */
interface Lost {
  readonly claim: NodeClaim;
  readonly nodeName: string;
}

export class LostNodes implements Singleton {
  readonly name = 'nodeclaim.lostnodes';
  readonly singleton = true;
  readonly backOff = { baseMs: 1000, maxMs: INTERVAL_MS };
  readonly #deps: Deps;
  readonly #brake: CollectionBrake;
  /** Time since which the cache has had no Node for a NodeClaim, by UID and by `monotonicMs`. */
  #sinceMs: ReadonlyMap<string, number> = new Map();

  constructor(deps: Deps) {
    this.#deps = deps;
    this.#brake = new CollectionBrake(deps.clock, HOLD_MS);
  }

  async reconcile({ log }: ReconcileContext): Promise<Outcome> {
    const claims = this.#registered();
    const due = this.#overdue(claims);
    const lost = due.length === 0 ? [] : await this.#confirmed(due);
    const ids = lost.map(({ claim }) => uidOf(claim));
    const { now, held, waitMs } = this.#brake.decide({ ids, share: mostAtOnce(claims.length) });
    if (held.length > 0)
      log.warn('many nodes no longer exist, keeping the instances of some of them', {
        nodeclaims: held.length,
        'next-attempt': formatDuration(waitMs),
      });
    const chosen = new Set(now);
    const collected = lost.filter(({ claim }) => chosen.has(uidOf(claim)));
    await withBoundedConcurrency(collected, AT_ONCE, async (each) => {
      try {
        if (await this.#collect(each, log)) this.#brake.collected();
        else this.#brake.failed(uidOf(each.claim));
      } catch (error) {
        this.#brake.failed(uidOf(each.claim));
        throw error;
      }
    });
    return after(INTERVAL_MS);
  }

  #registered(): readonly NodeClaim[] {
    const { cluster } = this.#deps;
    return cluster.stores.nodeClaims.list().filter((claim) => {
      const { deletionTimestamp } = claim.metadata;
      return cluster.manages(claim.spec.nodeClassRef) && !deletionTimestamp && isTrue(claim, 'Registered');
    });
  }

  /** Returns the NodeClaims that have had no Node during the grace time. */
  #overdue(claims: readonly NodeClaim[]): readonly Lost[] {
    const { clock, cluster } = this.#deps;
    const nowMs = monotonicMs(clock);
    const missing = claims.flatMap((claim) => {
      const { nodeName = '', providerID = '' } = claim.status ?? {};
      const isLost = nodeName !== '' && providerID !== '' && cluster.nodesOfClaim(claim).length === 0;
      return isLost ? [{ claim, nodeName }] : [];
    });
    const sinceMs = new Map(missing.map(({ claim }) => [uidOf(claim), this.#sinceMs.get(uidOf(claim)) ?? nowMs]));
    this.#sinceMs = sinceMs;
    return missing.filter(({ claim }) => nowMs - (sinceMs.get(uidOf(claim)) ?? nowMs) >= GRACE_MS);
  }

  /** Returns the NodeClaims without a Node in the API server, because the watch of Nodes may be silent. */
  async #confirmed(lost: readonly Lost[]): Promise<readonly Lost[]> {
    const { client, informers } = this.#deps;
    const nodes = await client.listAll(NODE);
    const names = new Set(nodes.map(({ metadata }) => metadata.name));
    const providerIds = new Set(nodes.map(({ spec }) => spec?.providerID));
    const gone = lost.filter(
      ({ claim, nodeName }) => !names.has(nodeName) && !providerIds.has(claim.status?.providerID),
    );
    if (gone.length < lost.length) informers.distrust(NODE);
    return gone;
  }

  /** Deletes the NodeClaim. Returns false while pods are bound to its node, because their kubelet may still run them. */
  async #collect({ claim, nodeName }: Lost, log: Logger): Promise<boolean> {
    const { client } = this.#deps;
    const pods = (await listPodsOnNode(client, nodeName)).filter(isActive);
    if (pods.length > 0) {
      log.debug('waiting for pods of a node that no longer exists', { Node: { name: nodeName }, pods: pods.length });
      return false;
    }
    if (!(await deleteExactly(client, NODE_CLAIM, claim))) return false;
    log.info('garbage collecting nodeclaim with no node', {
      NodeClaim: { name: claim.metadata.name },
      Node: { name: nodeName },
      'provider-id': claim.status?.providerID,
    });
    publishDeletion(this.#deps, claim, NODE_LOST, NODE_LOST.message(nodeName, formatDuration(GRACE_MS)));
    recordDeleted(this.#deps, claim, { reason: 'garbage_collected' });
    return true;
  }
}
