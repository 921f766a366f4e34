/** Replaces nodes that stay unhealthy, unless so many are unhealthy that replacements would worsen the situation. */
import type { Counter } from 'prom-client';
import {
  CAPACITY_TYPE_LABEL,
  type Condition,
  getCondition,
  labelOf,
  NODE,
  NODE_CLAIM,
  type Node,
  type NodeClaim,
  poolNameOf,
  TERMINATION_TIMESTAMP_ANNOTATION,
  uidOf,
} from '#api/objects';
import type { RepairObstacle } from '#engine/disruption';
import { readDeadline } from '#engine/drain';
import { deleteExactly, unlessGone } from '#kube/client';
import { after, type Outcome, type ReconcileContext, type Reconciler, settled } from '#kube/reconcilers';
import { timestamp } from '#lib';
import { eventOf, NODE_REPAIR_BLOCKED, UNHEALTHY } from '#observe/events';
import type { Logger } from '#observe/logger';
import { NODECLAIMS_UNHEALTHY_DISRUPTED } from '#observe/metrics';
import { PAUSED_RETRY_MS } from '#state';
import { concurrency } from '../concurrency.ts';
import { isStale } from '../current-object.ts';
import { publishDeletion } from '../deletion-events.ts';
import type { Deps } from '../deps.ts';
import { recordDeleted, reschedulablePods } from '../disrupted.ts';
import { snakeCase } from '../text.ts';
import type { Repairs } from './repairs.ts';

const BLOCKED_RETRY_MS = 5 * 60_000;
/** Interval of checks while the cache is outdated. */
const STALE_RETRY_MS = 10_000;

export class NodeHealth implements Reconciler<Node> {
  readonly name = 'node.health';
  readonly watches = NODE;
  readonly backOff = { baseMs: 100, maxMs: 60_000 };
  readonly concurrency: number;
  readonly #deps: Deps;
  readonly #repairs: Repairs;
  readonly #repaired: Counter<'condition' | 'nodepool' | 'capacity_type' | 'image_id'>;

  constructor(deps: Deps, repairs: Repairs) {
    this.#deps = deps;
    this.#repairs = repairs;
    this.#repaired = deps.metrics.counter(NODECLAIMS_UNHEALTHY_DISRUPTED);
    // Creates the series of repaired conditions at the start. The values of the other labels are unknown before a repair.
    for (const { conditionType } of deps.cloud.repairPolicies)
      this.#repaired.inc({ condition: snakeCase(conditionType), nodepool: '', capacity_type: '', image_id: '' }, 0);
    this.concurrency = concurrency(deps.settings, { min: 10, max: 1_000 });
  }

  filter(node: Node, event: 'added' | 'updated' | 'deleted', before?: Node): boolean {
    return event !== 'updated' || before === undefined || conditionsChanged(before, node);
  }

  async reconcile(node: Node, { log }: ReconcileContext): Promise<Outcome> {
    const { clock, cluster } = this.#deps;
    const [claim, ...others] = cluster.claimsOfNode(node);
    const ailment = this.#repairs.ailmentOf(node);
    if (claim === undefined || others.length > 0 || ailment === undefined) return settled;
    const waitMs = ailment.dueMs - clock.now();
    if (waitMs > 0) return after(waitMs);

    // the share of unhealthy nodes is counted in the cache
    if (isStale(this.#deps.informers, NODE)) return after(STALE_RETRY_MS);
    const obstacle = this.#repairs.obstacle(node, poolNameOf(claim));
    if (obstacle?.code === 'paused') return after(PAUSED_RETRY_MS);
    if (obstacle !== undefined) {
      this.#publishBlocked(node, claim, obstacle);
      return after(BLOCKED_RETRY_MS);
    }
    if (!(await this.#isStillUnhealthy(node))) return after(STALE_RETRY_MS);
    await this.#stampDeadline(claim);
    if (!claim.metadata.deletionTimestamp) await this.#replace(node, claim, ailment.condition, log);
    return settled;
  }

  /** Reads the Node from the API server, because its recovery may be newer than the cache. */
  async #isStillUnhealthy({ metadata }: Node): Promise<boolean> {
    const { client, clock } = this.#deps;
    const current = await client.find(NODE, metadata);
    if (current === undefined || current.metadata.uid !== metadata.uid) return false;
    const ailment = this.#repairs.ailmentOf(current);
    return ailment !== undefined && ailment.dueMs <= clock.now();
  }

  #publishBlocked(node: Node, claim: NodeClaim, { text: message }: RepairObstacle): void {
    const pool = this.#deps.cluster.stores.nodePools.get({ name: poolNameOf(claim) });
    for (const key of [uidOf(node), uidOf(claim), ...(pool ? [uidOf(pool)] : [])]) {
      this.#deps.events.publish(eventOf(NODE_REPAIR_BLOCKED, node, { message, dedupe: [key] }));
    }
  }

  /** Sets the drain deadline to the current time, because an unhealthy node may not run its pods. */
  async #stampDeadline(claim: NodeClaim): Promise<void> {
    const { client, clock } = this.#deps;
    // replaces a deadline in the future, and a deadline that cannot be parsed, which would keep the node forever
    if (readDeadline(claim) <= clock.now()) return;
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: timestamp(clock.now()) };
    await unlessGone(client.patch(NODE_CLAIM, claim.metadata, { metadata: { annotations } }));
  }

  async #replace(node: Node, claim: NodeClaim, ailing: Condition, log: Logger): Promise<void> {
    const { client } = this.#deps;
    const pods = reschedulablePods(this.#deps, claim);
    if (!(await deleteExactly(client, NODE_CLAIM, claim))) return;
    log.info('deleting unhealthy node', {
      Node: { name: node.metadata.name },
      NodeClaim: { name: claim.metadata.name },
    });
    const { type, status, lastTransitionTime } = ailing;
    publishDeletion(this.#deps, claim, UNHEALTHY, UNHEALTHY.message(type, status, lastTransitionTime));
    recordDeleted(this.#deps, claim, { reason: 'unhealthy', pods });
    this.#repaired.inc({
      condition: snakeCase(type),
      nodepool: poolNameOf(claim),
      capacity_type: labelOf(claim, CAPACITY_TYPE_LABEL),
      image_id: claim.status?.imageID ?? '',
    });
  }
}

/** Returns true if a change of a node may affect its repair: a condition was added, removed, changed or renewed. */
export function conditionsChanged(before: Node, now: Node): boolean {
  const old = before.status?.conditions ?? [];
  if (old.length !== (now.status?.conditions ?? []).length) return true;
  return old.some((condition) => {
    const current = getCondition(now, condition.type);
    return current?.status !== condition.status || current.lastTransitionTime !== condition.lastTransitionTime;
  });
}
