/** Preferences of pods: rules for nodes that kube-scheduler scores, and that a pod can do without. */
import { type Affinity, HOSTNAME_LABEL, normalizeLabel, type PodSpec } from '#api/objects';
import { defined, remembering } from '#lib';
import type { EnginePod } from '../input.ts';
import { Requirements } from '../requirements.ts';

export interface Preference {
  /** Weight from 1 to 100. */
  readonly weight: number;
  readonly text: string;
  /** Position of its rule among all rules of the pod, or the node that it prefers. */
  readonly rule: number | Requirements;
  readonly isByHost: boolean;
}

/** Weight of a spread constraint, which has no weight of its own. */
const SPREAD_WEIGHT = 100;

const isHost = (topologyKey: string): boolean => normalizeLabel(topologyKey) === HOSTNAME_LABEL;

const PREFERRED = 'preferredDuringSchedulingIgnoredDuringExecution';
const REQUIRED = 'requiredDuringSchedulingIgnoredDuringExecution';

/** Returns the preferences of pods with a spec. Rules are in the order of `rulesOf` in `topology/rules.ts`. */
const preferencesIn = remembering((spec: PodSpec): readonly Preference[] => {
  const { affinity = {}, topologySpreadConstraints: constraints = [] } = spec;
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity;
  const nodes = (nodeAffinity?.[PREFERRED] ?? []).map(({ weight, preference }): Preference => {
    const requirements = Requirements.fromRequirements(preference.matchExpressions);
    return { weight, text: `node affinity to ${requirements}`, rule: requirements, isByHost: false };
  });
  const spreads = constraints.flatMap(({ whenUnsatisfiable, topologyKey }, rule): readonly Preference[] =>
    whenUnsatisfiable === 'ScheduleAnyway'
      ? [{ weight: SPREAD_WEIGHT, text: `spread by ${topologyKey}`, rule, isByHost: isHost(topologyKey) }]
      : [],
  );
  const pods = (kind: 'affinity' | 'anti-affinity', terms: Affinity['podAffinity'], first: number) =>
    (terms?.[PREFERRED] ?? []).map(
      ({ weight, podAffinityTerm: { topologyKey } }, at): Preference => ({
        weight,
        text: `pod ${kind} by ${topologyKey}`,
        rule: first + at,
        isByHost: isHost(topologyKey),
      }),
    );
  const afterRequired = constraints.length + (podAffinity?.[REQUIRED]?.length ?? 0);
  const attracting = pods('affinity', podAffinity, afterRequired);
  const afterAffinity = afterRequired + attracting.length + (podAntiAffinity?.[REQUIRED]?.length ?? 0);
  return [...nodes, ...spreads, ...attracting, ...pods('anti-affinity', podAntiAffinity, afterAffinity)];
});

export const preferencesOf = ({ spec }: EnginePod): readonly Preference[] =>
  spec.affinity === undefined && spec.topologySpreadConstraints === undefined ? [] : preferencesIn(spec);

/** Preferences that a solve leaves out: all, or the preferences by host, which need a node for each pod. */
export type LeftOutPreferences = 'all' | 'by host';

function omitFrom(spec: PodSpec, leftOut: LeftOutPreferences): PodSpec {
  const { affinity, topologySpreadConstraints } = spec;
  const isKept = ({ topologyKey }: { readonly topologyKey: string }): boolean =>
    leftOut === 'by host' && !isHost(topologyKey);
  const { nodeAffinity, podAffinity, podAntiAffinity } = affinity ?? {};
  const keepTerms = (terms: Affinity['podAffinity']) =>
    terms && { ...terms, [PREFERRED]: terms[PREFERRED]?.filter((term) => isKept(term.podAffinityTerm)) ?? [] };
  const ofNodes = leftOut === 'all' ? nodeAffinity && { ...nodeAffinity, [PREFERRED]: [] } : nodeAffinity;
  return {
    ...spec,
    ...(affinity && {
      affinity: defined({
        nodeAffinity: ofNodes,
        podAffinity: keepTerms(podAffinity),
        podAntiAffinity: keepTerms(podAntiAffinity),
      }),
    }),
    ...(topologySpreadConstraints && {
      topologySpreadConstraints: topologySpreadConstraints.filter(
        (constraint) => constraint.whenUnsatisfiable !== 'ScheduleAnyway' || isKept(constraint),
      ),
    }),
  };
}

/** Caches specs and pods, so that pods with the same spec still share their spec, and solves share their pods. */
function createSoftener(leftOut: LeftOutPreferences): (pod: EnginePod) => EnginePod {
  const specOf = remembering((spec: PodSpec) => omitFrom(spec, leftOut));
  return remembering((pod: EnginePod) => ({ ...pod, spec: specOf(pod.spec) }));
}

const WITHOUT: Readonly<Record<LeftOutPreferences, (pod: EnginePod) => EnginePod>> = {
  all: createSoftener('all'),
  'by host': createSoftener('by host'),
};

export const withoutPreferences = (pod: EnginePod, leftOut: LeftOutPreferences = 'all'): EnginePod =>
  preferencesOf(pod).length === 0 ? pod : WITHOUT[leftOut](pod);
