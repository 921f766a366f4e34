/** Use of the ceilings of NodePolicies: gauges, and a condition while the use is above the ceiling. */
import {
  type ConditionUpdate,
  clearCondition,
  NODE_POLICY,
  NODEPOLICY_CONDITIONS,
  type NodePolicy,
  setCondition,
} from '#api/objects';
import { ceilingAmount, ceilingText } from '#engine/costs';
import { amountIn, type Ceiling } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { CEILINGS_LIMIT, CEILINGS_USAGE, OwnedSeries } from '#observe/metrics';
import { ceilingReader } from '#planner';
import type { Deps } from './deps.ts';

const INTERVAL_MS = 10_000;
const WITHIN = 'WithinCeilings';

export function policyCeilings({ client, clock, cloud, cluster, metrics }: Deps): Reconciler<NodePolicy> {
  const usage = new OwnedSeries(metrics, CEILINGS_USAGE);
  const limit = new OwnedSeries(metrics, CEILINGS_LIMIT);
  const seriesOf = ({ object: { kind, name }, limits }: Ceiling, amounts: Ceiling['used']) =>
    Object.keys(limits).map((resource) => ({
      labels: { kind, name, resource_type: resource },
      value: ceilingAmount(resource, amountIn(amounts, resource)),
    }));
  return {
    name: 'nodepolicy.ceilings',
    watches: NODE_POLICY,
    optional: true,
    concurrency: 1,
    removed: ({ name }) => {
      for (const each of [usage, limit]) each.remove(name);
    },

    async reconcile(policy) {
      const { name } = policy.metadata;
      const read = await ceilingReader(cluster, [policy], { catalogue: cloud, nowMs: () => clock.now() });
      const ceilings = read();
      usage.set(
        name,
        ceilings.flatMap((ceiling) => seriesOf(ceiling, ceiling.used)),
      );
      limit.set(
        name,
        ceilings.flatMap((ceiling) => seriesOf(ceiling, ceiling.limits)),
      );
      const judged =
        ceilings.length === 0
          ? clearCondition(policy, NODEPOLICY_CONDITIONS, WITHIN, clock.now())
          : setCondition(policy, NODEPOLICY_CONDITIONS, judge(ceilings), clock.now());
      await writeChanges(client, NODE_POLICY, { before: policy, after: judged }, { part: 'status', lock: true });
      return ceilings.length === 0 ? settled : after(INTERVAL_MS);
    },
  };
}

function judge(ceilings: readonly Ceiling[]): ConditionUpdate {
  const exceeded = ceilings.flatMap(({ field, limits, used }) =>
    Object.entries(limits)
      .filter(([resource, most]) => amountIn(used, resource) > most)
      .map(
        ([resource, most]) =>
          `${field}.${resource}: ${ceilingText(resource, amountIn(used, resource))} in use, above ${ceilingText(resource, most)}`,
      ),
  );
  if (exceeded.length === 0) return { type: WITHIN, status: 'True' };
  const message = `${exceeded.join('; ')}. No node is launched until the use is below the ceiling, and no node is removed because of it.`;
  return { type: WITHIN, status: 'False', reason: 'Exceeded', message };
}
