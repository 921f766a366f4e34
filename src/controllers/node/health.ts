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
import { readDurationOrNever } from '#api/values';
import type { Ailment, RepairObstacle } from '#engine/disruption';
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
import { reportDeletion } from '../observed.ts';
import { snakeCase } from '../text.ts';
import { isRebooting, Reboots } from './reboots.ts';
import type { Repairs } from './repairs.ts';

const BLOCKED_RETRY_MS = 5 * 60_000;
/** Interval of checks whether a budget allows a repair. */
const BUDGET_RETRY_MS = 60_000;
/** Interval of checks while the cache is outdated. */
const STALE_RETRY_MS = 10_000;

export class NodeHealth implements Reconciler<Node> {
  readonly name = 'node.health';
  readonly watches = NODE;
  readonly backOff = { baseMs: 100, maxMs: 60_000 };
  readonly concurrency: number;
  readonly #deps: Deps;
  readonly #repairs: Repairs;
  readonly #reboots: Reboots;
  readonly #repaired: Counter<'condition' | 'nodepool' | 'capacity_type' | 'image_id'>;

  constructor(deps: Deps, repairs: Repairs) {
    this.#deps = deps;
    this.#repairs = repairs;
    this.#reboots = new Reboots(deps);
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
    const { clock, cluster, informers } = this.#deps;
    const [claim, ...others] = cluster.claimsOfNode(node);
    if (claim === undefined || others.length > 0) return settled;
    const ailment = this.#repairs.ailmentOf(node, poolNameOf(claim));
    if (isRebooting(claim) && !claim.metadata.deletionTimestamp) {
      // a new leader does not know yet if a pause holds the reboot
      if (!cluster.pause.isRead) return after(PAUSED_RETRY_MS);
      const isHeld =
        cluster.pause.of('disruption') !== undefined || cluster.observation.of(poolNameOf(claim)) !== undefined;
      const outcome = await this.#reboots.follow(node, claim, { ailment, isHeld }, log);
      // the cached NodeClaim does not show the end of the reboot yet
      return outcome ?? after(STALE_RETRY_MS);
    }
    if (ailment === undefined) return settled;
    const waitMs = ailment.dueMs - clock.now();
    if (waitMs > 0) return after(waitMs);

    // the share of unhealthy nodes is counted in the cache
    if (isStale(informers, NODE)) return after(STALE_RETRY_MS);
    const obstacle = this.#repairs.obstacle(node, claim);
    if (obstacle?.code === 'observed') reportDeletion(this.#deps, claim, 'unhealthy');
    if (obstacle?.code === 'paused' || obstacle?.code === 'observed') return after(PAUSED_RETRY_MS);
    if (obstacle !== undefined) {
      this.#publishBlocked(node, claim, obstacle);
      return after(obstacle.code === 'budget' ? BUDGET_RETRY_MS : BLOCKED_RETRY_MS);
    }
    const takeBack = this.#repairs.begin(claim);
    if (!(await this.#isStillUnhealthy(node, claim))) {
      takeBack();
      return after(STALE_RETRY_MS);
    }
    return this.#repair(node, claim, ailment, log);
  }

  /** Reads the Node from the API server, because its recovery may be newer than the cache. */
  async #isStillUnhealthy({ metadata }: Node, claim: NodeClaim): Promise<boolean> {
    const { client, clock } = this.#deps;
    const current = await client.find(NODE, metadata);
    if (current === undefined || current.metadata.uid !== metadata.uid) return false;
    const ailment = this.#repairs.ailmentOf(current, poolNameOf(claim));
    return ailment !== undefined && ailment.dueMs <= clock.now();
  }

  async #repair(node: Node, claim: NodeClaim, ailment: Ailment, log: Logger): Promise<Outcome> {
    const isLeaving = claim.metadata.deletionTimestamp !== undefined;
    if (ailment.rule.action === 'Reboot' && !isLeaving && this.#reboots.isPossible(node, claim))
      return this.#reboots.start(node, claim, ailment, log);
    await this.#stampDeadline(claim, ailment.rule.graceMs ?? 0);
    if (!isLeaving) await this.#replace(node, claim, ailment.condition, log);
    return settled;
  }

  #publishBlocked(node: Node, claim: NodeClaim, { text: message }: RepairObstacle): void {
    const pool = this.#deps.cluster.stores.nodePools.get({ name: poolNameOf(claim) });
    for (const key of [uidOf(node), uidOf(claim), ...(pool ? [uidOf(pool)] : [])]) {
      this.#deps.events.publish(eventOf(NODE_REPAIR_BLOCKED, node, { message, dedupe: [key] }));
    }
  }

  /** Sets the drain deadline to the end of the grace period. Without one, it is now: an unhealthy node may not run its pods. */
  async #stampDeadline(claim: NodeClaim, graceMs: number): Promise<void> {
    const { client, clock } = this.#deps;
    // replaces a deadline in the future, and a deadline that cannot be parsed, which would keep the node forever
    const ownMs = readDurationOrNever(claim.spec.terminationGracePeriod) ?? graceMs;
    const deadlineMs = clock.now() + Math.min(graceMs, ownMs);
    if (readDeadline(claim) <= deadlineMs) return;
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: timestamp(deadlineMs) };
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
