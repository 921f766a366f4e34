/** Reports when the windows of a NodePolicy open and close for a NodePool: a gauge, and an event if nodes wait for them. */
import { isTrue, NODE_POLICY, NODE_POOL, type NodeClaim, type NodePool } from '#api/objects';
import { readDurationOrNever } from '#api/values';
import { isOpenAt, nextTurnMs, openHours } from '#engine/disruption';
import { after, type Key, type Reconciler, settled } from '#kube/reconcilers';
import { timeOf, timestamp, tryRun } from '#lib';
import { eventOf, WINDOWS_CLOSED, WINDOWS_OPENED } from '#observe/events';
import { NODEPOOLS_WINDOW_OPEN, OwnedSeries } from '#observe/metrics';
import type { Deps } from './deps.ts';

const REASONS = ['Empty', 'Drifted', 'Underutilized', 'Expired'] as const;
type Reason = (typeof REASONS)[number];

/** Maximum time between two reviews, because the clock of the machine can be set. */
const REVIEW_MS = 60 * 60_000;

/** Windows of a NodePool for one reason. */
interface Hours {
  readonly reason: Reason;
  readonly policy: string;
  readonly isOpen: boolean;
  readonly turnMs: number | undefined;
}

export function policyWindows(deps: Deps): Reconciler<NodePool> {
  const { clock, cluster, events, metrics } = deps;
  const { nodePolicies, nodePools } = cluster.stores;
  const series = new OwnedSeries(metrics, NODEPOOLS_WINDOW_OPEN);
  /** Reasons for which the windows of a NodePool were open at its last review, by its name. */
  const open = new Map<string, ReadonlySet<Reason>>();
  const all = (): readonly Key[] => nodePools.list().map(({ metadata: { name } }) => ({ name }));

  function hoursOf(pool: NodePool): readonly Hours[] {
    const nowMs = clock.now();
    return REASONS.flatMap((reason) => {
      const hours = openHours(nodePolicies.list(), pool, reason);
      if (hours === undefined) return [];
      // an unknown time zone allows no disruption
      const isOpen = tryRun(() => isOpenAt(hours, nowMs)) ?? false;
      return [{ reason, policy: hours.policy, isOpen, turnMs: tryRun(() => nextTurnMs(hours, nowMs)) }];
    });
  }

  return {
    name: 'nodepool.windows',
    watches: NODE_POOL,
    concurrency: 1,
    triggers: [
      {
        kind: NODE_POLICY,
        optional: true,
        keysFor: ({ metadata }, event, before) =>
          event === 'updated' && metadata.generation === before?.metadata.generation ? [] : all(),
      },
    ],
    removed: ({ name }) => {
      series.remove(name);
      open.delete(name);
    },

    async reconcile(pool, { log }) {
      const { name } = pool.metadata;
      const hours = hoursOf(pool);
      const before = open.get(name);
      const now = new Set(hours.filter(({ isOpen }) => isOpen).map(({ reason }) => reason));
      series.set(
        name,
        hours.map(({ reason, isOpen }) => ({ labels: { nodepool: name, reason }, value: isOpen ? 1 : 0 })),
      );
      if (hours.length === 0) {
        open.delete(name);
        return settled;
      }
      open.set(name, now);
      for (const isOpen of [true, false]) {
        // a first review has no event, because the windows may have turned long ago
        const turned = hours.filter((each) => each.isOpen === isOpen && before && before.has(each.reason) !== isOpen);
        const waiting = turned.filter(({ reason }) => countWaiting(deps, name, { reason, isOpen }) > 0);
        const [first] = waiting;
        if (first === undefined) continue;
        const declaration = isOpen ? WINDOWS_OPENED : WINDOWS_CLOSED;
        const reasons = waiting
          .map(({ reason }) => `${reason} (${countWaiting(deps, name, { reason, isOpen })})`)
          .join(', ');
        const until = first.turnMs === undefined ? '' : ` until ${timestamp(first.turnMs)}`;
        const message = declaration.message(first.policy, reasons, until);
        log.info(message, { NodePool: { name } });
        events.publish(eventOf(declaration, pool, { message }));
      }
      const turns = hours.flatMap(({ turnMs }) => (turnMs === undefined ? [] : [turnMs - clock.now()]));
      return after(Math.max(0, Math.min(REVIEW_MS, ...turns)));
    },
  };
}

/** Counts the nodes of a NodePool that may be disrupted for a reason. */
function countWaiting(
  { clock, cluster }: Deps,
  nodePool: string,
  { reason, isOpen }: Pick<Hours, 'reason' | 'isOpen'>,
): number {
  const waits = (claim: NodeClaim): boolean => {
    // an expired node can be deleted before this review of the same opening
    if (claim.metadata.deletionTimestamp !== undefined && !isOpen) return false;
    if (reason === 'Drifted') return isTrue(claim, 'Drifted');
    if (reason !== 'Expired') return isTrue(claim, 'Consolidatable');
    const lifeMs = readDurationOrNever(claim.spec.expireAfter) ?? Number.POSITIVE_INFINITY;
    return timeOf(claim.metadata.creationTimestamp) + lifeMs <= clock.now();
  };
  return cluster.claimsOfPool(nodePool).filter(waits).length;
}
