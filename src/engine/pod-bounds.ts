/**
 * Limits the parts of a pod that the solver considers. An API server accepts thousands of terms, constraints and ports in a pod.
 * The work of the solver grows with the square of their number, for this pod and partly for all other pods. Preferences beyond a
 * limit are dropped from the start. Pods with too many hard rules are refused.
 */
import type { Affinity, NodeSelectorTerm, PodAffinityTerm, PodSpec } from '#api/objects';
import { tryRun } from '#lib';
import { hostPortsOf } from './host-ports.ts';
import type { EnginePod } from './input.ts';
import type { PodRefusal } from './model.ts';
import { withUsableTerms } from './node-terms.ts';
import { podKey } from './pods.ts';
import { selectorKeys } from './selectors.ts';

/**
 * Maximum number of considered preferred terms of each kind, of alternatives of node affinity, and of soft spread constraints.
 */
const MOST_TERMS = 100;
/** Maximum number of topology rules of a pod, without preferences, and of label keys in its rules. */
export const MOST_RULES = 64;
const MOST_LABEL_KEYS = 256;
/**
 * Maximum number of expressions in a term of node affinity, including the pod's node selector. A NodeClaim can have 100
 * requirements.
 */
const MOST_EXPRESSIONS = 100;
const MOST_PORTS = 1_000;
const MOST_VOLUMES = 256;

/** Maximum weight of a normal pod. Heavier pods are placed after all normal pods, and only some of them in one solve. */
export const HEAVY = 64;
/**
 * Divisor for values, tolerations, volumes and ports. They cost less than rules that create more forms of the pod or restrict
 * its place.
 */
const CHEAP = 16;

interface Measured {
  /** Considered part of the spec. The same object unless a part was omitted. */
  readonly spec: PodSpec;
  /** Approximate work for this pod, as a number of requested items. */
  readonly weight: number;
  /** Reason for a refusal, if this pod is refused. */
  readonly error: string | undefined;
  /** Omitted parts, for the text of a refusal. */
  readonly cut: string | undefined;
}

const known = new WeakMap<PodSpec, Measured>();
/** Omitted parts, by shortened spec. */
const cuts = new WeakMap<PodSpec, string>();

/** Returns the measures of a pod. Computes them once for each spec. */
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

/** Number of items of each kind that almost all pods stay below. Such pods need no count. */
const FEW = 8;
/** Same for terms, constraints and their expressions, whose product matters. The total stays below HEAVY. */
const FEW_TERMS = 3;

/** Returns true if a quick check shows that no limit applies. A solve can have tens of thousands of pods. */
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
    isPlainTerm(nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms) &&
    areFew(nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution, prefersFew) &&
    isPlainPodAffinity(podAffinity) &&
    isPlainPodAffinity(podAntiAffinity)
  );
}

/** Returns true for a single term, which is never omitted. */
const isPlainTerm = (terms: readonly NodeSelectorTerm[] | undefined): boolean =>
  terms === undefined || (terms.length < 2 && terms.every(hasFewExpressions));

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

/** Returns the omitted parts of a pod after the intake, for the text of a refusal. */
export const cutOf = ({ spec }: EnginePod): string | undefined => cuts.get(spec);

/** Pods as input of one solve. */
export interface Intake {
  /** Pods that take part, with the considered part of their specs. */
  readonly pods: readonly EnginePod[];
  readonly refusals: ReadonlyMap<string, PodRefusal>;
  /** Namespaced names of heavy pods that must wait for a later solve. */
  readonly leftOver: readonly string[];
}

/** Maximum total weight of the heavy pods of one solve. At least one heavy pod always takes part. */
const MOST_HEAVY = 2_000;

/**
 * Returns the pods for a solve. If no part is omitted, returns the same list. Heavy pods in `first` come before other heavy
 * pods.
 */
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

/** Returns the heavy pods that exceed the limit of one solve. */
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

/** Returns the pod with the considered part of its spec. */
function bounded(pod: EnginePod): EnginePod {
  const { spec } = measuresOf(pod);
  return spec === pod.spec ? pod : { ...pod, spec };
}

/** Returns the measures of a spec. If the spec is not valid, sets no limits, because later checks report the error. */
const measuredOr = (spec: PodSpec): Measured =>
  tryRun(() => measuredSpec(spec)) ?? { spec, weight: 0, error: undefined, cut: undefined };

function measuredSpec(own: PodSpec): Measured {
  const { spec, cut } = withoutSurplus(withUsableTerms(own));
  return { spec, cut, error: errorOf(spec), weight: weightOf(spec) };
}

/** Number of items of a kind in a pod, and the maximum. */
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
  return `pod exceeds the limits of the scheduler, ${over.map(([what, count, most]) => `${count} ${what}, at most ${most} are supported`).join('; ')}`;
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

/** Returns all terms of node affinity, including preferred terms. */
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

/** Returns the weight. Counts lists without their contents, except for values, because there can be tens of thousands of them. */
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

/** Returns the terms with the highest weight, in their original order. Returns undefined if the list is short enough. */
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

/** Returns the spec without preferences and alternatives beyond the limits. */
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
    cut: `only ${MOST_TERMS} of its alternatives and preferences of each kind were considered`,
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

/** Returns all hard constraints and the first few soft constraints. */
function fewerConstraints(
  constraints: PodSpec['topologySpreadConstraints'] = [],
): PodSpec['topologySpreadConstraints'] | undefined {
  let soft = 0;
  const kept = constraints.filter(
    ({ whenUnsatisfiable }) => whenUnsatisfiable !== 'ScheduleAnyway' || ++soft <= MOST_TERMS,
  );
  return kept.length < constraints.length ? kept : undefined;
}

/** Adds the omitted parts of a pod to the refusal, because they can be the cause. */
export function withCut(refusal: PodRefusal, pod: EnginePod): PodRefusal {
  const cut = cutOf(pod);
  return cut === undefined ? refusal : { ...refusal, text: `${refusal.text}; ${cut}` };
}
