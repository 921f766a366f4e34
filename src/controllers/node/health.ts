/** Replaces nodes that stay broken, unless so many are broken that replacing them would make things worse. */
import { timestamp } from '../../api/conditions.ts';
import { NODE, NODE_CLAIM } from '../../api/kinds.ts';
import type { Node } from '../../api/kubernetes.ts';
import { CAPACITY_TYPE_LABEL, NODEPOOL_LABEL, TERMINATION_TIMESTAMP_ANNOTATION } from '../../api/labels.ts';
import type { NodeClaim } from '../../api/nodeclaim.ts';
import { deleteExactly, unlessGone } from '../../kube/patch.ts';
import { after, type Reconciler, settled } from '../../kube/reconciler.ts';
import { eventOf } from '../../observe/events/declaration.ts';
import { UNHEALTHY } from '../../observe/events/nodeclaims.ts';
import { NODE_REPAIR_BLOCKED } from '../../observe/events/nodes.ts';
import { NODECLAIMS_UNHEALTHY_DISRUPTED } from '../../observe/metrics/nodeclaims.ts';
import { concurrency } from '../concurrency.ts';
import { publishDeparture } from '../departures.ts';
import type { Deps } from '../deps.ts';
import { countDisrupted, reschedulablePods } from '../disrupted.ts';
import { snakeCase } from '../text.ts';
import { readDeadline } from './deadline.ts';
import { ailmentOf, conditionsChanged, isRepairBlocked } from './repair.ts';

const BLOCKED_RETRY_MS = 5 * 60_000;

export function health(deps: Deps): Reconciler<Node> {
  const { client, clock, cloud, cluster, events, metrics, settings } = deps;
  const repaired = metrics.counter(NODECLAIMS_UNHEALTHY_DISRUPTED);

  /** Answers why nothing may be repaired now, with the keys under which it is said once. */
  const obstacle = (node: Node, claim: NodeClaim): { message: string; keys: readonly string[] } | undefined => {
    const pool = claim.metadata.labels?.[NODEPOOL_LABEL];
    const all = cluster.stores.nodes.list();
    const own = pool === undefined ? all : all.filter(({ metadata }) => metadata.labels?.[NODEPOOL_LABEL] === pool);
    if (!isRepairBlocked(own, cloud.repairPolicies)) return undefined;
    const keys = [node.metadata.uid ?? '', claim.metadata.uid ?? ''];
    if (pool === undefined) return { message: 'more then 20% nodes are unhealthy in the cluster', keys };
    const poolUid = cluster.stores.nodePools.get({ name: pool })?.metadata.uid;
    return {
      message: 'more than 20% nodes are unhealthy in the nodepool',
      keys: poolUid === undefined ? keys : [...keys, poolUid],
    };
  };

  /** The deadline of the drain is now: a broken node cannot be trusted to run its pods. */
  async function stampDeadline(claim: NodeClaim): Promise<void> {
    // one that is still to come is moved forward, and one that cannot be read would keep the node for ever
    if (readDeadline(claim) <= clock.now()) return;
    const annotations = { [TERMINATION_TIMESTAMP_ANNOTATION]: timestamp(clock.now()) };
    await unlessGone(client.patch(NODE_CLAIM, claim.metadata, { metadata: { annotations } }));
  }

  return {
    name: 'node.health',
    watches: NODE,
    concurrency: concurrency(settings, { min: 10, max: 1_000 }),
    backOff: { baseMs: 100, maxMs: 60_000 },
    filter: (node, event, before) => event !== 'updated' || before === undefined || conditionsChanged(before, node),

    async reconcile(node, { log }) {
      const [claim, ...others] = cluster.claimsOfNode(node);
      const ailment = ailmentOf(node, cloud.repairPolicies);
      if (claim === undefined || others.length > 0 || ailment === undefined) return settled;
      const waitMs = ailment.dueMs - clock.now();
      if (waitMs > 0) return after(waitMs);

      const blocked = obstacle(node, claim);
      if (blocked) {
        for (const key of blocked.keys) {
          events.publish(eventOf(NODE_REPAIR_BLOCKED, node, { message: blocked.message, dedupe: [key] }));
        }
        return after(BLOCKED_RETRY_MS);
      }
      await stampDeadline(claim);
      if (claim.metadata.deletionTimestamp) return settled;
      const pods = reschedulablePods(deps, claim);
      if (!(await deleteExactly(client, NODE_CLAIM, claim))) return settled;
      log.info('deleting unhealthy node', {
        Node: { name: node.metadata.name },
        NodeClaim: { name: claim.metadata.name },
      });
      const { type, status, lastTransitionTime } = ailment.condition;
      publishDeparture(deps, claim, UNHEALTHY, UNHEALTHY.message(type, status, lastTransitionTime));
      countDisrupted(metrics, claim, { reason: 'unhealthy', pods });
      repaired.inc({
        condition: snakeCase(ailment.condition.type),
        nodepool: claim.metadata.labels?.[NODEPOOL_LABEL] ?? '',
        capacity_type: claim.metadata.labels?.[CAPACITY_TYPE_LABEL] ?? '',
        image_id: claim.status?.imageID ?? '',
      });
      return settled;
    },
  };
}
