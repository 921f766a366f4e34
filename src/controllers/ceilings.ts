/** Use of the ceilings of NodePolicies and CapacityQuotas: gauges, status, and a condition if it is above a ceiling. */
import {
  CAPACITY_QUOTA,
  type CapacityQuota,
  type ConditionUpdate,
  clearCondition,
  NODE,
  NODE_POLICY,
  NODEPOLICY_CONDITIONS,
  type NodePolicy,
  setCondition,
  withCondition,
} from '#api/objects';
import { readQuota } from '#api/validation';
import { ceilingAmount, ceilingText } from '#engine/costs';
import { amountIn, type Ceiling, quantityList } from '#engine/model';
import { writeChanges } from '#kube/client';
import { after, type Reconciler, settled } from '#kube/reconcilers';
import { sameJson } from '#lib';
import { CEILINGS_LIMIT, CEILINGS_USAGE, type Metrics, OwnedSeries } from '#observe/metrics';
import { type CeilingSources, ceilingReader } from '#planner';
import type { Deps } from './deps.ts';

const INTERVAL_MS = 10_000;

export function policyCeilings(deps: Deps): Reconciler<NodePolicy> {
  const { client, clock } = deps;
  const series = new CeilingSeries(deps.metrics, 'NodePolicy');
  return {
    name: 'nodepolicy.ceilings',
    watches: NODE_POLICY,
    optional: true,
    concurrency: 1,
    removed: ({ name }) => series.remove(name),

    async reconcile(policy) {
      const ceilings = await currentCeilings(deps, { policies: [policy], quotas: [] });
      series.set(policy.metadata.name, ceilings);
      const judged =
        ceilings.length === 0
          ? clearCondition(policy, NODEPOLICY_CONDITIONS, 'WithinCeilings', clock.now())
          : setCondition(policy, NODEPOLICY_CONDITIONS, judge('WithinCeilings', ceilings), clock.now());
      await writeChanges(client, NODE_POLICY, { before: policy, after: judged }, { part: 'status', lock: true });
      return ceilings.length === 0 ? settled : after(INTERVAL_MS);
    },
  };
}

export function quotaStatus(deps: Deps): Reconciler<CapacityQuota> {
  const { client, clock, cluster } = deps;
  const series = new CeilingSeries(deps.metrics, 'CapacityQuota');
  return {
    name: 'capacityquota',
    watches: CAPACITY_QUOTA,
    optional: true,
    concurrency: 1,
    removed: ({ name }) => series.remove(name),
    triggers: [
      {
        kind: NODE,
        keysFor: (node, event, before) =>
          event === 'updated' && sameJson(node.metadata.labels, before?.metadata.labels)
            ? []
            : cluster.quotas().map(({ metadata: { name } }) => ({ name })),
      },
    ],

    async reconcile(quota) {
      const ceilings = await currentCeilings(deps, { policies: [], quotas: [quota] });
      series.set(quota.metadata.name, ceilings);
      const { generation } = quota.metadata;
      const used = Object.fromEntries(
        ceilings.flatMap(({ limits, used }) => Object.keys(limits).map((name) => [name, amountIn(used, name)])),
      );
      const status = {
        ...quota.status,
        used: { resources: quantityList(used) },
        ...(generation !== undefined && { observedGeneration: generation }),
      };
      const updates = [validity(quota), judge('WithinLimits', ceilings)];
      const judged = updates.reduce<CapacityQuota>((each, update) => withCondition(each, update, clock.now()), {
        ...quota,
        status,
      });
      await writeChanges(client, CAPACITY_QUOTA, { before: quota, after: judged }, { part: 'status', lock: true });
      return after(INTERVAL_MS);
    },
  };
}

async function currentCeilings({ cluster, cloud, clock }: Deps, sources: CeilingSources): Promise<readonly Ceiling[]> {
  const read = await ceilingReader(cluster, sources, { catalogue: cloud, nowMs: () => clock.now() });
  return read();
}

/** Gauges of the ceilings of one kind of objects. */
class CeilingSeries {
  readonly #kind: string;
  readonly #usage: OwnedSeries;
  readonly #limit: OwnedSeries;

  constructor(metrics: Metrics, kind: Ceiling['object']['kind']) {
    this.#kind = kind;
    this.#usage = new OwnedSeries(metrics, CEILINGS_USAGE);
    this.#limit = new OwnedSeries(metrics, CEILINGS_LIMIT);
  }

  set(name: string, ceilings: readonly Ceiling[]): void {
    const samples = (amountsOf: (ceiling: Ceiling) => Ceiling['used']) =>
      ceilings.flatMap((ceiling) =>
        Object.keys(ceiling.limits).map((resource) => ({
          labels: { kind: this.#kind, name, resource_type: resource },
          value: ceilingAmount(resource, amountIn(amountsOf(ceiling), resource)),
        })),
      );
    this.#usage.set(
      name,
      samples(({ used }) => used),
    );
    this.#limit.set(
      name,
      samples(({ limits }) => limits),
    );
  }

  remove(name: string): void {
    for (const each of [this.#usage, this.#limit]) each.remove(name);
  }
}

function validity(quota: CapacityQuota): ConditionUpdate {
  const { errors } = readQuota(quota);
  if (errors.length === 0) return { type: 'Reconciled', status: 'True', reason: 'ReconciliationSucceeded' };
  const message =
    `CapacityQuota "${quota.metadata.name}": ${errors.join('; ')}. Until then, an invalid expression selects all nodes, ` +
    'and an invalid amount is zero.';
  return { type: 'Reconciled', status: 'False', reason: 'ReconciliationFailed', message };
}

function judge(type: string, ceilings: readonly Ceiling[]): ConditionUpdate {
  const exceeded = ceilings.flatMap(({ field, limits, used }) =>
    Object.entries(limits)
      .filter(([resource, most]) => amountIn(used, resource) > most)
      .map(
        ([resource, most]) =>
          `${field}.${resource}: ${ceilingText(resource, amountIn(used, resource))} in use, above ${ceilingText(resource, most)}`,
      ),
  );
  if (exceeded.length === 0) return { type, status: 'True' };
  const message = `${exceeded.join('; ')}. No node is launched until the use is below the ceiling, and no node is removed because of it.`;
  return { type, status: 'False', reason: 'Exceeded', message };
}
