/** Views of the controllers' state by URL path. Only the leading replica can serve them. */

import { NODE_POOL, pauseText } from '#api/objects';
import { type PoolBudgets, poolBudgets, type Verdict } from '#engine/disruption';
import type { NodeBlockers } from '#engine/drain';
import {
  type InstanceTypeReport,
  instanceTypeReport,
  type NodeClaimExplanation,
  type PodVerdict,
  type RemedyProof,
} from '#engine/explanations';
import { type InstanceType, podKey } from '#engine/model';
import { blockersOf, explainClaim, governedPools, pendingPods } from '#planner';
import { BadQuery, historyView, type Look, logView, Unavailable } from '#process/server';
import { type HoldCode, type HoldOf, wallTimeOf } from '#state';
import { type KeptHistory, readCost } from './cost/index.ts';
import type { Deps } from './deps.ts';
import type { MoveHistory } from './disruption/moves.ts';
import { instanceTypeExplanations } from './instance-type-explanations.ts';
import { viewedPoolInputs } from './pool-inputs.ts';
import type { LaunchBudget } from './provisioning/launch-budget.ts';
import type { PodVerdicts } from './provisioning/pod-verdicts.ts';
import { type WhatIf, type WhatIfAnswer, WhatIfError } from './what-if.ts';

type ViewDeps = Pick<Deps, 'cloud' | 'clock' | 'cluster' | 'settings'>;

/** Returns the names of all NodeClaims. */
const nodeClaimNames = ({ cluster }: Pick<Deps, 'cluster'>): readonly string[] =>
  cluster.stores.nodeClaims.list().map(({ metadata }) => metadata.name);

const nodeClaimView = (deps: ViewDeps, name: string): Promise<NodeClaimExplanation | undefined> =>
  explainClaim(deps.cluster, name, {
    nowMs: deps.clock.now(),
    poolOf: async (poolName) => {
      const pool = deps.cluster.stores.nodePools.get({ name: poolName });
      return pool && (await viewedPoolInputs(deps, [pool]))[0];
    },
    answerOf: (claim) => deps.cloud.launchAnswer?.(claim),
  });

/** Item of `/debug/launches`: a cause of unproductive launches. The format is public. */
interface LaunchView {
  readonly nodePool: string;
  /** Label `cause` of `karpenter_nodepools_launches_unproductive_total`. */
  readonly cause: string;
  readonly text: string;
  /** Number of unproductive nodes since the last productive node, and their cost until now. */
  readonly nodes: number;
  readonly usd: number;
  /** Time of the next attempt for affected pods; absent while launches for them go on. */
  readonly nextAttempt?: string;
  /** Namespaces of the affected pods; absent for all namespaces. */
  readonly namespaces?: readonly string[];
  /** Unproductive launches that these namespaces may still have now, for all causes together. */
  readonly allowances: number;
}

function* launchViews({ clock }: Pick<Deps, 'clock'>, launches: LaunchBudget): Iterable<LaunchView> {
  for (const { nodePool, allowances, record, usd, nextMs } of launches.reports()) {
    const { cause, text, nodes, namespaces } = record;
    const of = namespaces === undefined ? {} : { namespaces: [...namespaces] };
    const next = nextMs === undefined ? {} : { nextAttempt: wallTimeOf(clock, nextMs) };
    yield { nodePool, cause: cause.code, text, nodes, usd, ...next, ...of, allowances: Math.floor(allowances) };
  }
}

/** Item of `/debug/holds`: a pending pod that is held back for now. The format is public. */
interface HoldView {
  /** `namespace/name`. */
  readonly pod: string;
  readonly code: HoldCode;
  /** Property that the nodes for such pods lacked, or the engine worker that did not respond. */
  readonly text: string;
  readonly since: string;
  readonly until: string;
  /** Number of successive holds of such pods. */
  readonly times: number;
}

export function* holdViews({ cluster, clock }: Pick<Deps, 'cluster' | 'clock'>, holdOf: HoldOf): Iterable<HoldView> {
  for (const pod of pendingPods(cluster)) {
    const hold = holdOf(pod);
    if (hold === undefined) continue;
    const { code, text, sinceMs, untilMs, times } = hold;
    yield { pod: podKey(pod), code, text, since: wallTimeOf(clock, sinceMs), until: wallTimeOf(clock, untilMs), times };
  }
}

interface DebugViewParts {
  readonly deps: Deps;
  /** Returns the provider's view of offerings. */
  readonly offerings: () => unknown;
  /** Returns the current verdicts on all nodes. */
  readonly currentVerdicts: () => readonly Verdict[];
  readonly moves: MoveHistory;
  readonly launches: LaunchBudget;
  readonly verdicts: PodVerdicts;
  readonly costHistory: KeptHistory | undefined;
  readonly whatIf: WhatIf;
  /** Returns a function that finds the hold of a pod. */
  readonly holdOf: () => HoldOf;
}

/** Leadership of this replica. */
export interface Lead {
  /** Returns true if this replica is the leader. */
  readonly isLeading: () => boolean;
  /** Returns the namespace of the lease, which names the leader. */
  readonly leaseNamespace: () => string;
}

const NO_POD = 'the operator has no pod of this name in its cluster';

/**
 * Returns the views. On a replica that is not the leader, each view throws `Unavailable` with the command that finds the
 * leader.
 */
export function debugViews(
  { deps, offerings, currentVerdicts, moves, launches, verdicts, costHistory, whatIf, holdOf }: DebugViewParts,
  lead: Lead,
): Readonly<Record<string, Look>> {
  const { clock } = deps;
  const leading =
    <Query extends readonly unknown[]>(look: (...query: Query) => unknown) =>
    (...query: Query): unknown => {
      if (lead.isLeading()) return look(...query);
      const lease = `kubectl get lease ${deps.settings.leaderElectionName} -n ${lead.leaseNamespace()}`;
      throw new Unavailable(
        `this replica is on standby; find the leader with ${lease} -o jsonpath={.spec.holderIdentity}`,
      );
    };
  const kept = (): KeptHistory => {
    if (costHistory === undefined) throw new Unavailable('the history is disabled because COST_HISTORY is false');
    return costHistory;
  };
  return {
    '/debug/verdicts': leading(currentVerdicts),
    '/debug/offerings': leading(offerings),
    '/debug/instancetypes': {
      page: leading((query: URLSearchParams) => {
        const name = query.get('name');
        return name === null ? instanceTypeView(deps) : instanceTypeExplanations(deps, name);
      }),
    },
    '/debug/moves': leading(() => moves.views(clock.now())),
    '/debug/cost': leading(() => readCost(deps)),
    '/debug/history': { page: leading((query: URLSearchParams) => historyView(kept(), query)) },
    '/debug/log': { page: leading((query: URLSearchParams) => logView(kept(), query)) },
    '/debug/budgets': leading(() => budgetViews(deps)),
    '/debug/blockers': leading(() => blockerViews(deps)),
    '/debug/holds': leading(() => holdViews(deps, holdOf())),
    '/debug/pods': {
      page: leading((query: URLSearchParams) => {
        const name = query.get('pod');
        if (name === null) return verdicts.all(holdOf());
        const verdict = verdicts.of(name, holdOf()) ?? { pod: name, code: 'unknown', text: NO_POD };
        return query.get('checkRemedy') === 'true' ? withProof(verdict, whatIf) : verdict;
      }),
    },
    '/debug/nodeclaims': {
      page: leading((query: URLSearchParams) => {
        const name = query.get('name');
        return name === null ? nodeClaimNames(deps) : nodeClaimView(deps, name).then((view) => view ?? null);
      }),
    },
    '/debug/pause': leading(() => pauseView(deps)),
    '/debug/launches': leading(() => launchViews(deps, launches)),
    '/debug/what-if': { page: leading((query: URLSearchParams) => whatIfView(whatIf, query.get('change') ?? '')) },
  };
}

const BUSY = 'the operator is computing the effect of another change; try again';

/** @throws BadQuery if the change is not valid, or Unavailable while another effect is being computed */
async function whatIfView(whatIf: WhatIf, change: string): Promise<WhatIfAnswer> {
  const found = await whatIf.ask(change.trim()).catch((error: unknown) => {
    throw error instanceof WhatIfError ? new BadQuery(error.message) : error;
  });
  if (found === undefined) throw new Unavailable(BUSY);
  return found;
}

/** Adds the proof of the remedy. @throws Unavailable while another effect is being computed */
async function withProof(verdict: PodVerdict, whatIf: WhatIf): Promise<PodVerdict & { readonly proof?: RemedyProof }> {
  if (verdict.cause === undefined) return verdict;
  const found = await whatIf.proveRemedy(verdict.pod);
  if (found === undefined) throw new Unavailable(BUSY);
  return { ...verdict, ...found };
}

/**
 * Returns instance types and prices of `cloud` for each NodePool with a ready NodeClass. If `cloud` is the provider,
 * NodeOverlays are not applied.
 */
export async function instanceTypeView({
  informers,
  cloud,
}: Pick<Deps, 'informers' | 'cloud'>): Promise<InstanceTypeReport> {
  const seen = await Promise.all(
    informers
      .store(NODE_POOL)
      .list()
      .map(async (nodePool) => {
        const types = await cloud.instanceTypes(nodePool).catch((): readonly InstanceType[] => []);
        return [nodePool.metadata.name, types] as const;
      }),
  );
  return instanceTypeReport(new Map(seen));
}

/** View at `/debug/pause`. */
function pauseView({ cluster }: Pick<Deps, 'cluster'>): { readonly paused?: string; readonly observed?: string } {
  const { current } = cluster.pause;
  const { text } = cluster.observation;
  return {
    ...(current !== undefined && { paused: pauseText(current) }),
    ...(text !== undefined && { observed: text }),
  };
}

/** Views at `/debug/budgets` and `/debug/blockers`: the reasons why nodes wait for disruption. */
const budgetViews = ({ cluster, clock }: Pick<Deps, 'cluster' | 'clock'>): readonly PoolBudgets[] =>
  poolBudgets(cluster.nodes(), governedPools(cluster, clock.now()), clock.now());

/** Keeps no history, so blockers have no start time. */
async function blockerViews({
  cluster,
  clock,
  cloud,
  settings,
}: Pick<Deps, 'cluster' | 'clock' | 'cloud' | 'settings'>): Promise<Iterable<NodeBlockers>> {
  const pools = await viewedPoolInputs({ clock, cluster, cloud, settings });
  return blockersOf(cluster, {
    settings,
    pools,
    nowMs: clock.now(),
    commitments: cloud.commitments?.(),
    firstReported: new Map(),
  });
}
