/** Requests of pods beside their use, for the live page. */
import { type EfficiencyDimension, type EfficiencyGroup, efficiencyGroups, rightRequests } from '#engine/costs';
import { isTerminal } from '#engine/model';
import { monotonicMs, type Timepiece } from '#lib/clock';
import type { ClusterState } from '#state';
import type { UseReport, UseSamples } from './pod-use.ts';
import type { EfficiencyResponse } from './responses.ts';
import type { LiveView } from './view.ts';

/** Maximum number of groups in a response. The sums contain all groups. */
const MOST_GROUPS = 200;
/** Time for which a response is sent again, because groups of many pods take some time. */
const SAME_MS = 10_000;
const DIMENSIONS: ReadonlySet<string> = new Set<EfficiencyDimension>(['namespace', 'workload', 'label']);

export interface EfficiencySources {
  readonly cluster: ClusterState;
  readonly view: Pick<LiveView, 'priceOf'>;
  readonly use: Pick<UseSamples, 'latest'>;
  readonly clock: Timepiece;
}

/** Computes the tab of requests and use. */
export class LiveEfficiencies {
  readonly #sources: EfficiencySources;
  #last:
    | { readonly key: string; readonly report: UseReport; readonly atMs: number; readonly found: EfficiencyResponse }
    | undefined;

  constructor(sources: EfficiencySources) {
    this.#sources = sources;
  }

  async find(query: URLSearchParams): Promise<EfficiencyResponse> {
    const { use, clock } = this.#sources;
    const label = query.get('label')?.trim() ?? '';
    const wanted = query.get('by') ?? '';
    const by = (DIMENSIONS.has(wanted) ? wanted : 'workload') as EfficiencyDimension;
    const { report, problem } = await use.latest();
    if (report === undefined) return { ...UNKNOWN, problem: problem ?? 'The use of the pods is not read yet.' };
    const key = `${by} ${label}`;
    const last = this.#last;
    if (last?.key === key && last.report === report && monotonicMs(clock) - last.atMs < SAME_MS) return last.found;
    const found = this.#groups(report, by, label);
    this.#last = { key, report, atMs: monotonicMs(clock), found };
    return found;
  }

  #groups({ uses, source }: UseReport, by: EfficiencyDimension, label: string): EfficiencyResponse {
    const { cluster, view } = this.#sources;
    const nodes = cluster.nodes();
    const prices = new Map(
      nodes.flatMap(({ providerId, nodeClaim }) => {
        const price = view.priceOf(nodeClaim?.metadata.name);
        return price === undefined ? [] : [[providerId, { usdPerHour: price.usdPerHour }] as const];
      }),
    );
    const pods = nodes.flatMap((node) => node.pods.filter((pod) => !isTerminal(pod)));
    const groups = efficiencyGroups({ nodes, prices, uses, right: rightRequests(pods, uses), by, label });
    const sum = (of: (group: EfficiencyGroup) => number): number => groups.reduce((total, each) => total + of(each), 0);
    return {
      source,
      groups: groups.slice(0, MOST_GROUPS),
      more: Math.max(0, groups.length - MOST_GROUPS),
      idleUsdPerMonth: Number(sum(({ idleUsdPerMonth }) => idleUsdPerMonth).toFixed(2)),
      measured: sum(({ measured }) => measured),
      pods: pods.length,
    };
  }
}

const UNKNOWN: EfficiencyResponse = { groups: [], more: 0, idleUsdPerMonth: 0, measured: 0, pods: 0 };
