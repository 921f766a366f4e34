/** Compares the requests of pods with their use. */
import type { Pod } from '#api/objects';
import { own } from '#lib';
import type { Resources, StateNode } from '../model.ts';
import { isOwnedByDaemonSet, isTerminal, podKey } from '../pods.ts';
import { amountIn } from '../resources.ts';
import { workloadOf } from '../workloads.ts';
import { billedPriceOf, type NodePrice, partsOf, requestsOf, shareIn } from './account.ts';
import { HOURS_PER_MONTH } from './report.ts';

/** Use of a resource, in the unit of {@link Resources}. Both numbers are the same if only a sample is known. */
export interface Use {
  readonly p50: number;
  readonly p95: number;
}

const MEASURED = ['cpu', 'memory'] as const;
type Measured = (typeof MEASURED)[number];
export type PodUse = Readonly<Record<Measured, Use>>;
/** Amounts of CPU in thousandths of a CPU, and of memory in bytes. */
type Amounts = Readonly<Record<Measured, number>>;

export type EfficiencyDimension = 'namespace' | 'workload' | 'label';

/** Pods of a namespace, of a workload or with a value of a label. */
export interface EfficiencyGroup {
  readonly name: string;
  readonly pods: number;
  /** Number of pods with a known use. The use of the others counts as their requests. */
  readonly measured: number;
  readonly requested: Amounts;
  readonly usedP50: Amounts;
  readonly usedP95: Amounts;
  /** Sum of the requests that fit to the use. */
  readonly right: Amounts;
  readonly usdPerMonth: number;
  /** Cost of the requests beyond the use. */
  readonly idleUsdPerMonth: number;
}

/** Requests by workload, for one pod. */
export type RightRequests = ReadonlyMap<string, Amounts>;

/** Room above the 95th percentile of the use, and the least request and the step of each resource. */
const ROOM: Readonly<Record<Measured, { readonly factor: number; readonly least: number; readonly step: number }>> = {
  cpu: { factor: 1.15, least: 10, step: 10 },
  memory: { factor: 1.25, least: 32 * 2 ** 20, step: 16 * 2 ** 20 },
};

/** Returns the requests that fit to the pod with the highest use of each workload. DaemonSets keep their requests. */
export function rightRequests(pods: readonly Pod[], uses: ReadonlyMap<string, PodUse>): RightRequests {
  const found = new Map<string, Amounts>();
  for (const pod of pods) {
    const use = uses.get(podKey(pod));
    if (use === undefined || isOwnedByDaemonSet(pod) || isTerminal(pod)) continue;
    const workload = workloadOf(pod);
    const known = found.get(workload) ?? { cpu: 0, memory: 0 };
    found.set(
      workload,
      amountsBy((name) => Math.max(known[name], roundUp(name, use[name].p95))),
    );
  }
  return found;
}

function roundUp(name: Measured, used: number): number {
  const { factor, least, step } = ROOM[name];
  return Math.max(least, Math.ceil((used * factor) / step) * step);
}

const amountsBy = (amountOf: (name: Measured) => number): Amounts => ({
  cpu: amountOf('cpu'),
  memory: amountOf('memory'),
});

export interface EfficiencyInput {
  readonly nodes: readonly StateNode[];
  /** Prices by provider id. Nodes without NodePool can have one. */
  readonly prices: ReadonlyMap<string, NodePrice>;
  readonly uses: ReadonlyMap<string, PodUse>;
  readonly right: RightRequests;
  readonly by: EfficiencyDimension;
  /** Label of the dimension `label`. */
  readonly label?: string | undefined;
}

/** Returns the groups, highest idle cost first. Pods of nodes without a price count without a cost. */
export function efficiencyGroups({
  nodes,
  prices,
  uses,
  right,
  by,
  label,
}: EfficiencyInput): readonly EfficiencyGroup[] {
  const groups = new Map<string, EfficiencyGroup>();
  for (const { allocatable, pods: all, providerId } of nodes) {
    const pods = all.filter((pod) => !isTerminal(pod));
    const price = prices.get(providerId);
    const usdPerMonth = price === undefined ? 0 : billedPriceOf(price) * HOURS_PER_MONTH;
    const parts = partsOf(allocatable, pods.map(requestsOf));
    for (const pod of pods) {
      const requests = requestsOf(pod);
      const use = uses.get(podKey(pod));
      const needed = use === undefined ? requests : usedPart(requests, use);
      const name = nameOf(pod, by, label);
      groups.set(
        name,
        plus(groups.get(name) ?? EMPTY, {
          name,
          pods: 1,
          measured: use === undefined ? 0 : 1,
          requested: amountsBy((resource) => amountIn(requests, resource)),
          usedP50: amountsBy((resource) => use?.[resource].p50 ?? 0),
          usedP95: amountsBy((resource) => use?.[resource].p95 ?? 0),
          right:
            (isOwnedByDaemonSet(pod) ? undefined : right.get(workloadOf(pod))) ??
            amountsBy((resource) => amountIn(requests, resource)),
          usdPerMonth: usdPerMonth * shareIn(parts, requests),
          idleUsdPerMonth: usdPerMonth * (shareIn(parts, requests) - shareIn(parts, needed)),
        }),
      );
    }
  }
  return [...groups.values()]
    .map((group) => ({
      ...group,
      usdPerMonth: cents(group.usdPerMonth),
      idleUsdPerMonth: cents(group.idleUsdPerMonth),
    }))
    .sort((a, b) => b.idleUsdPerMonth - a.idleUsdPerMonth || (a.name < b.name ? -1 : 1));
}

const cents = (usd: number): number => Number(usd.toFixed(2));

/** Returns the requests, limited to the 95th percentile of the use. */
const usedPart = (requests: Resources, use: PodUse): Resources => ({
  ...requests,
  ...amountsBy((name) => Math.min(amountIn(requests, name), use[name].p95)),
});

/** Name of the group of pods without the label. */
export const NO_LABEL = '__none__';

function nameOf(pod: Pod, by: EfficiencyDimension, label = ''): string {
  if (by === 'workload') return workloadOf(pod);
  if (by === 'namespace') return pod.metadata.namespace ?? 'default';
  return own(pod.metadata.labels ?? {}, label) ?? NO_LABEL;
}

const NOTHING: Amounts = { cpu: 0, memory: 0 };
const EMPTY: EfficiencyGroup = {
  name: '',
  pods: 0,
  measured: 0,
  requested: NOTHING,
  usedP50: NOTHING,
  usedP95: NOTHING,
  right: NOTHING,
  usdPerMonth: 0,
  idleUsdPerMonth: 0,
};

function plus(a: EfficiencyGroup, b: EfficiencyGroup): EfficiencyGroup {
  const sum = (of: 'requested' | 'usedP50' | 'usedP95' | 'right'): Amounts =>
    amountsBy((name) => a[of][name] + b[of][name]);
  return {
    name: b.name,
    pods: a.pods + b.pods,
    measured: a.measured + b.measured,
    requested: sum('requested'),
    usedP50: sum('usedP50'),
    usedP95: sum('usedP95'),
    right: sum('right'),
    usdPerMonth: a.usdPerMonth + b.usdPerMonth,
    idleUsdPerMonth: a.idleUsdPerMonth + b.idleUsdPerMonth,
  };
}
