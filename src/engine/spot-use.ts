/**
 * Rules of NodePolicies for pods that could run on spot nodes: the share of the replicas of a workload on spot, and the time for
 * which pods wait for spot capacity. The rules of a solve are added to the required node affinity of its pods.
 */
import {
  CAPACITY_TYPE_LABEL,
  controllerOf,
  NODEPOOL_LABEL,
  type NodeSelectorRequirement,
  type PodSpec,
  SPOT_SHARE_ANNOTATION,
  uidOf,
} from '#api/objects';
import { shareOf } from '#api/values';
import { timeOf, timestamp } from '#lib';
import { isVirtual } from './capacity-buffers.ts';
import type { EnginePod } from './input.ts';
import { compareText } from './instance-types.ts';
import type { EngineNode, EngineSnapshot, Plan, PodRefusal, PoolInput, SpotRule } from './model.ts';
import { templateRequirements } from './node-template.ts';
import { isActive, isOwnedByDaemonSet, podKey } from './pods.ts';
import { LOOSE, requirementsOfPod } from './requirements.ts';
import { markLastResort } from './solver/relax.ts';
import { percentText } from './spot-price.ts';
import { toleratesAll } from './taints.ts';
import { ValueSet } from './value-set.ts';
import { workloadOf } from './workloads.ts';

/** Rounding error of products. */
const ROUNDING = 1e-9;

/** NodePools with the same NodePolicy. */
interface PolicyPools {
  readonly policy: string;
  readonly names: ReadonlySet<string>;
  readonly share: number | undefined;
  readonly waitMs: number | undefined;
  readonly pools: readonly PoolInput[];
}

/** Running replica of a workload. */
interface Running {
  readonly uid: string;
  /** Policy of its NodePool, if it runs on a spot node of a NodePool with a share. */
  readonly spotOf: string | undefined;
}

/** Rules for the pods of one solve. */
interface SolveRules {
  /** Pods with the rules as requirements. */
  readonly pods: readonly EnginePod[];
  /** Namespaced names of pods that need on-demand capacity of some NodePools. */
  readonly onDemand: ReadonlySet<string>;
  /** Adds the rules to the plan of these pods. */
  report(plan: Plan): Plan;
}

const isSpot = ({ labels }: Pick<EngineNode, 'labels'>): boolean => labels[CAPACITY_TYPE_LABEL] === 'spot';

/** Returns the UID of the controller of a replica. Returns undefined for pods of DaemonSets and virtual pods. */
function controllerUid(pod: EnginePod): string | undefined {
  return isOwnedByDaemonSet(pod) || isVirtual(pod) ? undefined : controllerOf(pod)?.uid;
}

/** Largest number of replicas on spot. Rounds down, so that the share is never exceeded. */
export const mostOnSpot = (replicas: number, share: number): number => Math.floor(replicas * share + ROUNDING);

/** Rules of the NodePolicies of a snapshot. The counts of running replicas are computed once. */
export class SpotUse {
  readonly #snapshot: EngineSnapshot;
  readonly #policies: readonly PolicyPools[];
  readonly #launched: () => ReadonlyMap<string, string>;
  readonly #nodes: ReadonlyMap<string, EngineNode>;
  #running: ReadonlyMap<string, Running> | undefined;

  private constructor(
    snapshot: EngineSnapshot,
    policies: readonly PolicyPools[],
    launched: () => ReadonlyMap<string, string>,
  ) {
    this.#snapshot = snapshot;
    this.#policies = policies;
    this.#launched = launched;
    this.#nodes = new Map(snapshot.nodes.map((node) => [node.providerId, node]));
  }

  /** Returns undefined without such rules. @param launched provider ids of the nodes that were launched for pods, by UID */
  static of(snapshot: EngineSnapshot, launched: () => ReadonlyMap<string, string>): SpotUse | undefined {
    const ruled = snapshot.pools.filter(({ spot }) => spot?.share !== undefined || spot?.onDemandAfterMs !== undefined);
    if (ruled.length === 0) return undefined;
    const policies = [...Map.groupBy(ruled, ({ spot }) => spot?.policy ?? '')].map(([policy, pools]) => ({
      policy,
      pools,
      names: new Set(pools.map(({ nodePool }) => nodePool.metadata.name)),
      share: pools[0]?.spot?.share,
      waitMs: pools[0]?.spot?.onDemandAfterMs,
    }));
    return new SpotUse(snapshot, policies, launched);
  }

  /** Returns the rules for pods to place, or undefined if all pods may use spot and on-demand capacity. */
  rulesFor(pods: readonly EnginePod[]): SolveRules | undefined {
    const open = pods.filter(allowsSpot);
    const shares = this.#shareRules(pods, open);
    const barred = barredPools(shares, this.#policies);
    const waits = this.#waitRules(open, barred);
    if (shares.length === 0 && waits.length === 0) return undefined;
    const waiting = new Map(waits.flatMap((rule) => rule.pods.map((key) => [key, rule] as const)));
    const poolNames = this.#snapshot.pools.map(({ nodePool }) => nodePool.metadata.name);
    const restricted = pods.map((pod) => {
      const key = podKey(pod);
      const onDemand = barred.get(key) ?? NO_NAMES;
      const spot = this.#poolsOf(waiting.get(key)?.policy).difference(onDemand);
      return onDemand.size + spot.size === 0 ? pod : withTerms(pod, { onDemand, spot, all: poolNames });
    });
    return { pods: restricted, onDemand: new Set(barred.keys()), report: (plan) => withRules(plan, shares, waits) };
  }

  #poolsOf(policy: string | undefined): ReadonlySet<string> {
    return this.#policies.find((each) => each.policy === policy)?.names ?? NO_NAMES;
  }

  /** Replicas on nodes by namespaced name. */
  get #replicas(): ReadonlyMap<string, Running> {
    this.#running ??= new Map(
      this.#snapshot.nodes.flatMap((node) => {
        const name = node.labels[NODEPOOL_LABEL] ?? '';
        const spotOf = isSpot(node)
          ? this.#policies.find(({ names, share }) => share !== undefined && names.has(name))?.policy
          : undefined;
        return node.pods.flatMap((pod) => {
          const uid = isActive(pod) ? controllerUid(pod) : undefined;
          return uid === undefined ? [] : [[podKey(pod), { uid, spotOf }] as const];
        });
      }),
    );
    return this.#running;
  }

  /** Returns a rule for each policy with a share and each workload with pods to place. */
  #shareRules(pods: readonly EnginePod[], open: readonly EnginePod[]): readonly SpotRule[] {
    const sharing = this.#policies.filter(({ share }) => share !== undefined);
    if (sharing.length === 0) return [];
    const placed = Map.groupBy(
      pods.filter((pod) => controllerUid(pod) !== undefined),
      (pod) => controllerUid(pod) ?? '',
    );
    const candidates = new Set(open);
    const moved = new Set(pods.map(podKey));
    const staying = [...this.#replicas].filter(([key, { uid }]) => placed.has(uid) && !moved.has(key));
    const byWorkload = Map.groupBy(staying, ([, { uid }]) => uid);
    return [...placed].flatMap(([uid, own]) => {
      const running = (byWorkload.get(uid) ?? []).map(([, replica]) => replica);
      const [first] = own;
      const limit = shareOf(first?.metadata.annotations?.[SPOT_SHARE_ANNOTATION]) ?? 1;
      const replicas = running.length + own.length;
      const inOrder = this.#inOrder(own.filter((pod) => candidates.has(pod)));
      return sharing.map(({ policy, share = 1 }): SpotRule => {
        const allowed = Math.min(share, limit);
        const most = mostOnSpot(replicas, allowed);
        const onSpot = running.filter(({ spotOf }) => spotOf === policy).length;
        const barred = inOrder.slice(Math.max(0, most - onSpot));
        const workload = first === undefined ? '' : workloadOf(first);
        return { code: 'share', workload, policy, pods: barred.map(podKey), share: allowed, replicas, most, onSpot };
      });
    });
  }

  /** Pods that have or get spot nodes anyway come first, and pods of launched on-demand nodes last. */
  #inOrder(pods: readonly EnginePod[]): readonly EnginePod[] {
    const launched = this.#launched();
    const rankOf = (pod: EnginePod): number => {
      const node = this.#nodes.get(launched.get(uidOf(pod)) ?? '');
      if (node !== undefined) return isSpot(node) ? 0 : 3;
      return this.#replicas.get(podKey(pod))?.spotOf === undefined ? 2 : 1;
    };
    return pods
      .map((pod) => ({ pod, rank: rankOf(pod), created: timeOf(pod.metadata.creationTimestamp) || 0 }))
      .sort((a, b) => a.rank - b.rank || a.created - b.created || compareText(podKey(a.pod), podKey(b.pod)))
      .map(({ pod }) => pod);
  }

  /** Returns a rule for each policy and each time until which pending pods wait for spot. */
  #waitRules(open: readonly EnginePod[], barred: ReadonlyMap<string, ReadonlySet<string>>): readonly SpotRule[] {
    const { nowMs } = this.#snapshot;
    const running = new Set(this.#snapshot.nodes.flatMap(({ pods }) => pods.map(podKey)));
    return this.#policies.flatMap(({ policy, pools, waitMs }) => {
      if (waitMs === undefined) return [];
      const waiting = open.filter((pod) => {
        const key = podKey(pod);
        const names = barred.get(key) ?? NO_NAMES;
        return (
          !running.has(key) &&
          !isVirtual(pod) &&
          endOf(pod, waitMs, nowMs) > nowMs &&
          pools.some((pool) => !names.has(pool.nodePool.metadata.name) && offersSpot(pool, pod))
        );
      });
      const groups = Map.groupBy(waiting, (pod) => `${workloadOf(pod)} ${endOf(pod, waitMs, nowMs)}`);
      return [...groups.values()].map((group): SpotRule => {
        const [first] = group;
        const workload = first === undefined ? '' : workloadOf(first);
        const until = timestamp(first === undefined ? nowMs : endOf(first, waitMs, nowMs));
        return { code: 'wait', workload, policy, pods: group.map(podKey), until };
      });
    });
  }
}

const NO_NAMES: ReadonlySet<string> = new Set();

const allowsSpot = (pod: EnginePod): boolean => requirementsOfPod(pod).get(CAPACITY_TYPE_LABEL).has('spot');

/** A pod without a creation time does not exist yet. */
const endOf = ({ metadata }: EnginePod, waitMs: number, nowMs: number): number =>
  (timeOf(metadata.creationTimestamp) || nowMs) + waitMs;

/** Returns true if a node of the NodePool could be a spot node for the pod, regardless of capacity and limits. */
function offersSpot({ nodePool }: PoolInput, pod: EnginePod): boolean {
  const requirements = templateRequirements(nodePool);
  return (
    requirements.get(CAPACITY_TYPE_LABEL).has('spot') &&
    toleratesAll(pod.spec.tolerations, nodePool.spec.template.spec.taints) &&
    requirements.and(CAPACITY_TYPE_LABEL, ValueSet.in(['spot'])).compatible(requirementsOfPod(pod), LOOSE)
  );
}

/** Returns the NodePools with spot nodes that are closed to pods, by namespaced name of the pod. */
function barredPools(
  rules: readonly SpotRule[],
  policies: readonly PolicyPools[],
): ReadonlyMap<string, ReadonlySet<string>> {
  const barred = new Map<string, ReadonlySet<string>>();
  for (const { policy, pods } of rules) {
    const names = policies.find((each) => each.policy === policy)?.names ?? NO_NAMES;
    for (const key of pods) barred.set(key, (barred.get(key) ?? NO_NAMES).union(names));
  }
  return barred;
}

interface Restriction {
  /** NodePools with spot nodes that are closed to the pod. */
  readonly onDemand: ReadonlySet<string>;
  /** NodePools with on-demand nodes that are closed to the pod. */
  readonly spot: ReadonlySet<string>;
  /** Names of all NodePools. */
  readonly all: readonly string[];
}

type Term = readonly NodeSelectorRequirement[];

/** Returns alternatives that together allow the nodes of the pod, in the order of trial. */
function termsFor({ onDemand, spot, all }: Restriction): readonly Term[] {
  const requirement = (key: string, operator: 'In' | 'NotIn', values: Iterable<string>): NodeSelectorRequirement => ({
    key,
    operator,
    values: [...values].sort(),
  });
  const notSpot = requirement(CAPACITY_TYPE_LABEL, 'NotIn', ['spot']);
  const notOnDemand = requirement(CAPACITY_TYPE_LABEL, 'NotIn', ['on-demand']);
  const ruled = onDemand.union(spot);
  const rest = all.some((name) => !ruled.has(name)) ? [[requirement(NODEPOOL_LABEL, 'NotIn', ruled)]] : [];
  if (spot.size === 0) return [[notSpot], ...rest];
  if (onDemand.size === 0) return [[notOnDemand], ...rest];
  return [
    [requirement(NODEPOOL_LABEL, 'In', spot), notOnDemand],
    [requirement(NODEPOOL_LABEL, 'NotIn', spot), notSpot],
    ...rest,
  ];
}

/** Specs by the restriction. Pods with the same spec must still share their spec, because the solver compares specs. */
const specs = new WeakMap<PodSpec, Map<string, PodSpec>>();
const MOST_SPECS = 20;

function withTerms(pod: EnginePod, restriction: Restriction): EnginePod {
  const added = termsFor(restriction);
  const known = specs.get(pod.spec) ?? new Map<string, PodSpec>();
  if (known.size > MOST_SPECS) known.clear();
  specs.set(pod.spec, known);
  const id = JSON.stringify(added);
  const spec = known.get(id) ?? restrictedSpec(pod.spec, added);
  known.set(id, spec);
  return { ...pod, spec };
}

function restrictedSpec(spec: PodSpec, added: readonly Term[]): PodSpec {
  const { affinity } = spec;
  const own = affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const nodeSelectorTerms = added.flatMap((term, at) =>
    (own.length === 0 ? [{}] : own).map((each, position) => {
      const restricted = { ...each, matchExpressions: [...(each.matchExpressions ?? []), ...term] };
      if (at > 0 && position === 0) markLastResort(restricted);
      return restricted;
    }),
  );
  const nodeAffinity = {
    ...affinity?.nodeAffinity,
    requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms },
  };
  return { ...spec, affinity: { ...affinity, nodeAffinity } };
}

/** Adds the rules to a plan. Pods that found a place do not wait. */
function withRules(plan: Plan, shares: readonly SpotRule[], waits: readonly SpotRule[]): Plan {
  const waiting = waits
    .map((rule) => ({ ...rule, pods: rule.pods.filter((key) => plan.refusals.has(key)) }))
    .filter(({ pods }) => pods.length > 0);
  const spot = [...shares, ...waiting];
  if (plan.refusals.size === 0) return { ...plan, spot };
  const texts = spotTexts(spot);
  const refusals = new Map(
    [...plan.refusals].map(([key, refusal]): readonly [string, PodRefusal] => {
      const text = texts.get(key);
      return [key, text === undefined || refusal.code !== 'no-fit' ? refusal : { ...refusal, spot: text }];
    }),
  );
  return { ...plan, refusals, spot };
}

/** Returns the text of a rule, without its pods. */
export function spotRuleText({ code, policy, share = 1, replicas, most, until }: SpotRule): string {
  return code === 'share'
    ? `at most ${most} of ${replicas} replicas may be on spot (${percentText(share)}, NodePolicy ${policy})`
    : `waits for spot capacity until ${until} (NodePolicy ${policy}), and may use on-demand capacity then`;
}

/** Returns the text of a rule with its workload. */
export function spotGroupText(rule: SpotRule): string {
  const { code, workload, pods } = rule;
  const number = `${pods.length} ${pods.length === 1 ? 'pod' : 'pods'}`;
  if (code === 'wait') return `${workload}: ${number}: ${spotRuleText(rule)}`;
  return `${workload}: ${spotRuleText(rule)}${pods.length === 0 ? '' : `; ${number} with on-demand capacity only`}`;
}

/** Returns the texts for pods that a rule restricts, by namespaced name. */
export const spotTexts = (rules: readonly SpotRule[] = []): ReadonlyMap<string, string> =>
  new Map(
    rules.flatMap((rule) => {
      const text = rule.code === 'share' ? `on-demand only: ${spotRuleText(rule)}` : spotRuleText(rule);
      return rule.pods.map((key) => [key, text] as const);
    }),
  );
