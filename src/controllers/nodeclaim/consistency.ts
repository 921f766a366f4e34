/** Compares the capacity of a node with the capacity of its instance type. */
import { isTrue, NODE_CLAIM, type Node, type NodeClaim, uidOf } from '#api/objects';
import { amountIn, quantityList, readableResources } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { monotonicMs } from '#lib/clock';
import { eventOf, FAILED_CONSISTENCY_CHECK } from '#observe/events';
import { concurrency } from '../concurrency.ts';
import type { Deps } from '../deps.ts';
import { withCondition } from './step.ts';

const INTERVAL_MS = 10 * 60_000;
/** Minimum share of the expected capacity. Kubelets report a little less memory than the instance type has. */
const TOLERATED_SHARE = 0.9;

export function consistency(deps: Deps): Reconciler<NodeClaim> {
  const { client, clock, cluster, events, settings } = deps;
  /** Time of the last check by name, by `monotonicMs`. */
  const scannedMs = new Map<string, number>();

  return {
    name: 'nodeclaim.consistency',
    watches: NODE_CLAIM,
    concurrency: concurrency(settings, { min: 10, max: 1000 }),
    filter: (claim) => cluster.manages(claim.spec.nodeClassRef),
    removed: ({ name }) => scannedMs.delete(name),

    async reconcile(claim, { log }) {
      if (!claim.status?.providerID) return settled;
      const startedMs = monotonicMs(clock);
      const waitMs = (scannedMs.get(claim.metadata.name) ?? Number.NEGATIVE_INFINITY) + INTERVAL_MS - startedMs;
      if (waitMs > 0) return after(waitMs);
      scannedMs.set(claim.metadata.name, startedMs);
      const [node, ...others] = cluster.nodesOfClaim(claim);
      if (node === undefined || others.length > 0) return after(INTERVAL_MS);
      const issues = shapeIssues(claim, node);
      for (const message of issues) {
        log.info('failed consistency check', { issue: message });
        const dedupe = [uidOf(claim), message];
        events.publish(eventOf(FAILED_CONSISTENCY_CHECK, claim, { message, dedupe }));
      }
      const update =
        issues.length === 0
          ? ({ type: 'ConsistentStateFound', status: 'True' } as const)
          : ({
              type: 'ConsistentStateFound',
              status: 'False',
              reason: 'ConsistencyCheckFailed',
              message: 'Consistency Check Failed',
            } as const);
      const versions = { before: claim, after: withCondition(claim, update, clock.now()) };
      try {
        await writeChanges(client, NODE_CLAIM, versions, { part: 'status', lock: true });
      } catch (error) {
        scannedMs.delete(claim.metadata.name); // a rejected write must not delay the next check by the whole interval
        throw error;
      }
      return after(INTERVAL_MS);
    },
  };
}

function shapeIssues(claim: NodeClaim, node: Node): readonly string[] {
  if (claim.metadata.deletionTimestamp || !isTrue(claim, 'Initialized')) return [];
  const promised = readableResources(claim.status?.capacity);
  const found = readableResources(node.status?.capacity);
  const requested = Object.entries(readableResources(claim.spec.resources?.requests)).filter(
    ([, amount]) => amount > 0,
  );
  return requested.flatMap(([name]) => {
    const expected = amountIn(promised, name);
    const actual = amountIn(found, name);
    if (expected === 0 || actual / expected >= TOLERATED_SHARE) return [];
    const text = (amount: number): string => quantityList({ [name]: amount })[name] ?? '';
    const percent = ((100 * actual) / expected).toFixed(1);
    return [`expected ${text(expected)} of resource ${name}, but found ${text(actual)} (${percent}% of expected)`];
  });
}
