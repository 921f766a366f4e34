/** Replaces nodes that stay unhealthy, unless so many are unhealthy that replacements would worsen the situation. */
import type { Counter } from 'prom-client';
import {
  CAPACITY_TYPE_LABEL,
  type Condition,
  getCondition,
  labelOf,
  NODE,
  NODE_CLAIM,
  NODEPOOL_LABEL,
  type Node,
  type NodeClaim,
  poolNameOf,
  TERMINATION_TIMESTAMP_ANNOTATION,
  uidOf,
} from '#api/objects';
import type { RepairPolicy } from '#cloud';
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
import { Onsets } from './onsets.ts';

const BLOCKED_RETRY_MS = 5 * 60_000;
/** Interval of checks while the cache is outdated. */
const STALE_RETRY_MS = 10_000;

/** Reason why repairs are blocked, and the deduplication keys of its events. */
interface Obstacle {
  readonly message: string;
  readonly keys: readonly string[];
}

export class NodeHealth implements Reconciler<Node> {
  readonly name = 'node.health';
  readonly watches = NODE;
  readonly backOff = { baseMs: 100, maxMs: 60_000 };
  readonly concurrency: number;
  readonly #deps: Deps;
  readonly #onsets = new Onsets();
  readonly #repaired: Counter<'condition' | 'nodepool' | 'capacity_type' | 'image_id'>;

  constructor(deps: Deps) {
    this.#deps = deps;
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
    const ailment = this.#ailmentOf(node);
    if (claim === undefined || others.length > 0 || ailment === undefined) return settled;
    const waitMs = ailment.dueMs - clock.now();
    if (waitMs > 0) return after(waitMs);

    if (cluster.pause.of('disruption')) return after(PAUSED_RETRY_MS);
    // the share of unhealthy nodes is counted in the cache
    if (isStale(this.#deps.informers, NODE)) return after(STALE_RETRY_MS);
    const blocked = this.#obstacle(node, claim);
    if (blocked) {
      this.#publishBlocked(node, blocked);
      return after(BLOCKED_RETRY_MS);
    }
    if (!(await this.#isStillUnhealthy(node))) return after(STALE_RETRY_MS);
    await this.#stampDeadline(claim);
    if (!claim.metadata.deletionTimestamp) await this.#replace(node, claim, ailment.condition, log);
    return settled;
  }

  #ailmentOf(node: Node): Ailment | undefined {
    return ailmentOf(node, this.#deps.cloud.repairPolicies, (condition) => this.#onsets.sinceMs(node, condition));
  }

  /** Reads the Node from the API server, because its recovery may be newer than the cache. */
  async #isStillUnhealthy({ metadata }: Node): Promise<boolean> {
    const { client, clock } = this.#deps;
    const current = await client.find(NODE, metadata);
    if (current === undefined || current.metadata.uid !== metadata.uid) return false;
    const ailment = this.#ailmentOf(current);
    return ailment !== undefined && ailment.dueMs <= clock.now();
  }

  /** Returns the reason why repairs are blocked, or undefined if they are allowed. */
  #obstacle(node: Node, claim: NodeClaim): Obstacle | undefined {
    const { cloud, cluster } = this.#deps;
    const pool = claim.metadata.labels?.[NODEPOOL_LABEL];
    const all = cluster.stores.nodes.list();
    const own = pool === undefined ? all : all.filter(({ metadata }) => metadata.labels?.[NODEPOOL_LABEL] === pool);
    if (!isRepairBlocked(own, cloud.repairPolicies)) return undefined;
    const keys = [uidOf(node), uidOf(claim)];
    if (pool === undefined) return { message: 'more then 20% nodes are unhealthy in the cluster', keys };
    const poolUid = cluster.stores.nodePools.get({ name: pool })?.metadata.uid;
    return {
      message: 'more than 20% nodes are unhealthy in the nodepool',
      keys: poolUid === undefined ? keys : [...keys, poolUid],
    };
  }

  #publishBlocked(node: Node, { message, keys }: Obstacle): void {
    for (const key of keys) {
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

interface Ailment {
  readonly condition: Condition;
  /** Time from which the node may be replaced for this condition. */
  readonly dueMs: number;
}

/**
 * Returns the ailment of a node that is due first, or undefined for a healthy node.
 * @param sinceMs returns the start of a condition's status. Default: its last transition.
 */
export function ailmentOf(
  node: Node,
  policies: readonly RepairPolicy[],
  sinceMs = (condition: Condition): number => new Onsets().sinceMs(node, condition),
): Ailment | undefined {
  const ailments = policies.flatMap((policy): readonly Ailment[] => {
    const condition = getCondition(node, policy.conditionType);
    if (condition === undefined) return [];
    // also of a healthy condition, because its end is the start of the next one
    const dueMs = sinceMs(condition) + policy.tolerationMs;
    return condition.status === policy.conditionStatus ? [{ condition, dueMs }] : [];
  });
  return ailments.sort((left, right) => left.dueMs - right.dueMs)[0];
}

/**
 * Maximum share of unhealthy nodes of a NodePool or cluster. Above this share, repairs stop because the nodes are probably not
 * the cause.
 */
const TOLERATED_SHARE = 0.2;

/**
 * Returns true if too many nodes are unhealthy to replace any. Counts all nodes that are unhealthy now, even before the end of
 * their toleration.
 */
export function isRepairBlocked(nodes: readonly Node[], policies: readonly RepairPolicy[]): boolean {
  const broken = nodes.filter((node) => ailmentOf(node, policies) !== undefined).length;
  return broken > Math.ceil(nodes.length * TOLERATED_SHARE);
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
