/**
 * What of a pod the solver looks at. An API server accepts thousands of terms, constraints and ports in a pod; what the
 * solver makes of them grows with the square of their number, for the pod and in part for all others. Preferences beyond
 * a bound are given up from the start, pods with more hard ones are refused.
 */
import type { Affinity, NodeSelectorTerm, PodAffinityTerm, PodSpec } from '../api/kubernetes.ts';
import { hostPortsOf } from './host-ports.ts';
import type { EnginePod } from './input.ts';
import type { PodRefusal } from './model.ts';
import { podKey } from './pods.ts';
import { selectorKeys } from './selectors.ts';

/** Preferred terms of each kind, and alternatives of node affinity, that are looked at; also soft spread constraints. */
const MOST_TERMS = 100;
/** Rules of topology that a pod may have, preferences aside, and label keys that its rules may look at. */
export const MOST_RULES = 64;
const MOST_LABEL_KEYS = 256;
/** Expressions of a term of node affinity, the pod's node selector included. A NodeClaim can have 100 requirements. */
const MOST_EXPRESSIONS = 100;
const MOST_PORTS = 1_000;
const MOST_VOLUMES = 256;

/** Pods that weigh more are placed after all others, and only some of them in one solve. */
export const HEAVY = 64;
/** Values, tolerations, volumes and ports weigh less than what opens further forms of the pod or restricts its place. */
const CHEAP = 16;

interface Measured {
  /** What the solver looks at: the same object unless something was left out. */
  readonly spec: PodSpec;
  /** About how much work the pod is, in things that it asks for. */
  readonly weight: number;
  /** Why the pod is refused, if it is. */
  readonly error: string | undefined;
  /** What was left out, for the reason of a refusal. */
  readonly cut: string | undefined;
}

const known = new WeakMap<PodSpec, Measured>();
/** By what is left of specs. */
const cuts = new WeakMap<PodSpec, string>();

/** A pod's measures, taken once for each spec. */
export function measuresOf({ spec }: EnginePod): Measured {
  let measures = known.get(spec);
  if (measures === undefined) {
    measures = measuredOr(spec);
    known.set(spec, measures);
    if (measures.cut !== undefined) cuts.set(measures.spec, measures.cut);
  }
  return measures;
}

export const isHeavy = (pod: EnginePod): boolean => !isPlain(pod.spec) && measuresOf(pod).weight > HEAVY;

/** Things of each kind that nearly all pods have fewer of, and which need no counting. */
const FEW = 8;
/** Of terms, constraints and the expressions in them, whose product counts: less than HEAVY in all. */
const FEW_TERMS = 3;

/** Whether a look is enough to see that there is nothing to bound: solves take in pods by the ten thousand. */
function isPlain(spec: PodSpec): boolean {
  const { affinity, topologySpreadConstraints: constraints, containers, nodeSelector } = spec;
  if (affinity !== undefined && !isPlainAffinity(affinity)) return false;
  if (!areFew(constraints, hasFewKeys)) return false;
  if (!(isShort(spec.tolerations) && isShort(spec.volumes) && isShort(containers))) return false;
  if (containers?.every(hasFewPorts) !== true) return false;
  return nodeSelector === undefined || Object.keys(nodeSelector).length <= FEW;
}

const isShort = (list: readonly unknown[] | undefined, most = FEW): boolean =>
  list === undefined || list.length <= most;

const hasFewPorts = ({ ports }: PodSpec['containers'][number]): boolean => isShort(ports);

function isPlainAffinity({ nodeAffinity, podAffinity, podAntiAffinity }: Affinity): boolean {
  return (
    areFew(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms, hasFewExpressions) &&
    areFew(nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution, prefersFew) &&
    isPlainPodAffinity(podAffinity) &&
    isPlainPodAffinity(podAntiAffinity)
  );
}

const isPlainPodAffinity = (affinity: Affinity['podAffinity'] | undefined): boolean =>
  areFew(affinity?.requiredDuringSchedulingIgnoredDuringExecution, hasFewKeys) &&
  areFew(affinity?.preferredDuringSchedulingIgnoredDuringExecution, prefersFewKeys);

const areFew = <T>(terms: readonly T[] | undefined, isSmall: (term: T) => boolean): boolean =>
  terms === undefined || (isShort(terms, FEW_TERMS) && terms.every(isSmall));

const prefersFew = ({ preference }: { readonly preference: NodeSelectorTerm }): boolean =>
  hasFewExpressions(preference);

const hasFewExpressions = ({ matchExpressions }: NodeSelectorTerm): boolean =>
  areFew(matchExpressions, ({ values }) => isShort(values));

const prefersFewKeys = ({ podAffinityTerm }: { readonly podAffinityTerm: Rule }): boolean =>
  hasFewKeys(podAffinityTerm);

const hasFewKeys = ({ labelSelector, matchLabelKeys }: Rule): boolean =>
  isShort(matchLabelKeys, FEW_TERMS) &&
  isShort(labelSelector?.matchExpressions, FEW_TERMS) &&
  (labelSelector?.matchLabels === undefined || Object.keys(labelSelector.matchLabels).length <= FEW);

/** What was left out of a pod that has been taken in, for the reason of a refusal. */
export const cutOf = ({ spec }: EnginePod): string | undefined => cuts.get(spec);

/** Pods as one solve takes them in. */
export interface Intake {
  /** Those that take part, with what the solver looks at of them. */
  readonly pods: readonly EnginePod[];
  readonly refusals: ReadonlyMap<string, PodRefusal>;
  /** Heavy pods that have to wait for a later solve, by namespaced name. */
  readonly leftOver: readonly string[];
}

/** What the heavy pods of one solve may weigh together. One of them always takes part. */
const MOST_HEAVY = 2_000;

/** The same list of pods when nothing is to be left out. Heavy pods in `first` have their turn before others. */
export function intake(pods: readonly EnginePod[], first: readonly string[] = []): Intake {
  const refusals = new Map<string, PodRefusal>();
  const heavy: EnginePod[] = [];
  let isWhole = true;
  for (const pod of pods) {
    if (isPlain(pod.spec)) continue;
    const { error, weight, spec } = measuresOf(pod);
    if (error !== undefined) refusals.set(podKey(pod), { code: 'unsupported', text: error });
    else if (weight > HEAVY) heavy.push(pod);
    isWhole &&= spec === pod.spec;
  }
  const leftOver = surplusOf(heavy, first);
  if (isWhole && refusals.size === 0 && leftOver.size === 0) return { pods, refusals, leftOver: [] };
  const taken = pods.filter((pod) => measuresOf(pod).error === undefined && !leftOver.has(podKey(pod)));
  return { pods: taken.map(bounded), refusals, leftOver: [...leftOver] };
}

/** The heavy pods that are too much for one solve. */
function surplusOf(heavy: readonly EnginePod[], first: readonly string[]): ReadonlySet<string> {
  const turns = new Map(first.map((key, at) => [key, at]));
  const turnOf = (pod: EnginePod): number => turns.get(podKey(pod)) ?? turns.size;
  const surplus = new Set<string>();
  let sum = 0;
  for (const pod of heavy.toSorted((a, b) => turnOf(a) - turnOf(b))) {
    const { weight } = measuresOf(pod);
    if (sum > 0 && sum + weight > MOST_HEAVY) surplus.add(podKey(pod));
    else sum += weight;
  }
  return surplus;
}

/** The pod with what the solver looks at of its spec. */
function bounded(pod: EnginePod): EnginePod {
  const { spec } = measuresOf(pod);
  return spec === pod.spec ? pod : { ...pod, spec };
}

/** A spec that cannot be read is left to those who say so. */
function measuredOr(spec: PodSpec): Measured {
  try {
    return measuredSpec(spec);
  } catch {
    return { spec, weight: 0, error: undefined, cut: undefined };
  }
}

function measuredSpec(own: PodSpec): Measured {
  const { spec, cut } = withoutSurplus(own);
  return { spec, cut, error: errorOf(spec), weight: weightOf(spec) };
}

/** How many things of a kind a pod has, and how many it may have. */
type Count = readonly [what: string, count: number, most: number];

function errorOf(spec: PodSpec): string | undefined {
  const { affinity, nodeSelector = {}, volumes = [] } = spec;
  const rules = hardRules(spec);
  const preferred = [affinity?.podAffinity, affinity?.podAntiAffinity].flatMap((each) =>
    (each?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(({ podAffinityTerm }) => podAffinityTerm),
  );
  const keys = new Set([...rules, ...preferred].flatMap(keysOf)).size;
  const selected = Object.keys(nodeSelector).length;
  const expressions = Math.max(selected, ...nodeTerms(affinity).map((term) => selected + expressionsOf(term)));
  const counts: readonly Count[] = [
    ['required pod (anti-)affinity terms and spread constraints', rules.length, MOST_RULES],
    ['label keys in selectors of its pod (anti-)affinity and spread constraints', keys, MOST_LABEL_KEYS],
    ['expressions of its node selector and a term of its node affinity', expressions, MOST_EXPRESSIONS],
    ['host ports', hostPortsOf({ spec } as EnginePod).length, MOST_PORTS],
    ['volumes', volumes.length, MOST_VOLUMES],
  ];
  const over = counts.filter(([, count, most]) => count > most);
  if (over.length === 0) return undefined;
  return `pod asks for more than can be considered, ${over.map(([what, count, most]) => `${count} ${what}, at most ${most} are supported`).join('; ')}`;
}

interface Rule {
  readonly labelSelector?: PodAffinityTerm['labelSelector'];
  readonly matchLabelKeys?: readonly string[];
}

const keysOf = ({ labelSelector, matchLabelKeys = [] }: Rule): readonly string[] => [
  ...selectorKeys(labelSelector),
  ...matchLabelKeys,
];

const expressionsOf = ({ matchExpressions = [] }: NodeSelectorTerm): number => matchExpressions.length;

/** Every term of node affinity, preferred ones too. */
const nodeTerms = (affinity: Affinity | undefined): readonly NodeSelectorTerm[] => [
  ...(affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? []),
  ...(affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution ?? []).map(
    ({ preference }) => preference,
  ),
];

const hardRules = ({ affinity, topologySpreadConstraints = [] }: PodSpec): readonly Rule[] => [
  ...topologySpreadConstraints.filter(({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway'),
  ...(affinity?.podAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
  ...(affinity?.podAntiAffinity?.requiredDuringSchedulingIgnoredDuringExecution ?? []),
];

/** Counts lists and not what is in them, but for values: those come by the ten thousand. */
function weightOf({
  affinity,
  nodeSelector = {},
  topologySpreadConstraints = [],
  tolerations = [],
  ...spec
}: PodSpec): number {
  const terms = nodeTerms(affinity);
  const values = terms.reduce(
    (sum, { matchExpressions = [] }) => matchExpressions.reduce((most, { values = [] }) => most + values.length, sum),
    0,
  );
  const pods = [affinity?.podAffinity, affinity?.podAntiAffinity].reduce(
    (sum, each) =>
      sum +
      (each?.requiredDuringSchedulingIgnoredDuringExecution?.length ?? 0) +
      (each?.preferredDuringSchedulingIgnoredDuringExecution?.length ?? 0),
    0,
  );
  const ports = spec.containers.reduce((sum, container) => sum + (container.ports?.length ?? 0), 0);
  return (
    Object.keys(nodeSelector).length +
    terms.reduce((sum, term) => sum + 1 + expressionsOf(term), 0) +
    pods +
    topologySpreadConstraints.length +
    (values + tolerations.length + ports + (spec.volumes?.length ?? 0)) / CHEAP
  );
}

/** A list with the heaviest of its terms, in the order in which they stand; undefined when it has no more than that. */
function heaviest<T extends { readonly weight: number }>(terms: readonly T[] = []): readonly T[] | undefined {
  if (terms.length <= MOST_TERMS) return undefined;
  const kept = new Set(
    [...terms.entries()]
      .sort(([a, one], [b, other]) => other.weight - one.weight || a - b)
      .slice(0, MOST_TERMS)
      .map(([at]) => at),
  );
  return terms.filter((_, at) => kept.has(at));
}

/** The spec without the preferences and alternatives beyond those that are looked at. */
function withoutSurplus(spec: PodSpec): { readonly spec: PodSpec; readonly cut: string | undefined } {
  const { affinity, topologySpreadConstraints } = spec;
  const node = shortened(affinity?.nodeAffinity);
  const [podAffinity, podAntiAffinity] = [preferring(affinity?.podAffinity), preferring(affinity?.podAntiAffinity)];
  const constraints = fewerConstraints(topologySpreadConstraints);
  if (!(node || podAffinity || podAntiAffinity || constraints)) return { spec, cut: undefined };
  return {
    spec: {
      ...spec,
      affinity: {
        ...affinity,
        ...(node && { nodeAffinity: node }),
        ...(podAffinity && { podAffinity }),
        ...(podAntiAffinity && { podAntiAffinity }),
      },
      ...(constraints && { topologySpreadConstraints: constraints }),
    },
    cut: `of its alternatives and preferences only ${MOST_TERMS} of each kind were considered`,
  };
}

function preferring<T extends NonNullable<Affinity['podAffinity']>>(affinity: T | undefined): T | undefined {
  const terms = heaviest(affinity?.preferredDuringSchedulingIgnoredDuringExecution);
  return affinity && terms && { ...affinity, preferredDuringSchedulingIgnoredDuringExecution: terms };
}

function shortened(affinity: Affinity['nodeAffinity']): Affinity['nodeAffinity'] {
  const terms = affinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const preferred = heaviest(affinity?.preferredDuringSchedulingIgnoredDuringExecution);
  if (preferred === undefined && terms.length <= MOST_TERMS) return undefined;
  const required = { nodeSelectorTerms: terms.slice(0, MOST_TERMS) };
  return {
    ...affinity,
    ...(terms.length > 0 && { requiredDuringSchedulingIgnoredDuringExecution: required }),
    ...(preferred && { preferredDuringSchedulingIgnoredDuringExecution: preferred }),
  };
}

/** All that are hard, and the first few soft ones. */
function fewerConstraints(
  constraints: PodSpec['topologySpreadConstraints'] = [],
): PodSpec['topologySpreadConstraints'] | undefined {
  let soft = 0;
  const kept = constraints.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway' || ++soft <= MOST_TERMS,
  );
  return kept.length < constraints.length ? kept : undefined;
}
