/** Relaxes a pod that does not fit, by one preference or one alternative at a time. */
import type { Affinity, Toleration, WeightedPodAffinityTerm } from '#api/objects';
import type { EnginePod } from '../input.ts';

const TOLERATE_PREFERENCE: Toleration = { operator: 'Exists', effect: 'PreferNoSchedule' };

type Step = (pod: EnginePod) => EnginePod | undefined;

const withAffinity = (pod: EnginePod, affinity: Affinity): EnginePod => ({
  ...pod,
  spec: { ...pod.spec, affinity: { ...pod.spec.affinity, ...affinity } },
});

/** Returns the list without the element with the highest weight. For equal weights, removes the first. */
function withoutHeaviest<T extends { readonly weight: number }>(terms: readonly T[] | undefined): T[] | undefined {
  if (terms === undefined || terms.length === 0) return undefined;
  return [...terms].sort((a, b) => b.weight - a.weight).slice(1);
}

/** Terms that pods try without preferences. */
const lastResorts = new WeakSet<object>();

/** Marks a required term that pods try after all preferences are dropped. */
export const markLastResort = (term: object): void => void lastResorts.add(term);

const dropRequiredTerm: Step = (pod) => {
  const nodeAffinity = pod.spec.affinity?.nodeAffinity;
  const terms = nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  if (terms.length < 2) return undefined;
  const required = { nodeSelectorTerms: terms.slice(1) };
  return withAffinity(pod, {
    nodeAffinity: { ...nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution: required },
  });
};

const dropPodPreference =
  (kind: 'podAffinity' | 'podAntiAffinity'): Step =>
  (pod) => {
    const affinity = pod.spec.affinity?.[kind];
    const rest: WeightedPodAffinityTerm[] | undefined = withoutHeaviest(
      affinity?.preferredDuringSchedulingIgnoredDuringExecution,
    );
    if (rest === undefined) return undefined;
    return withAffinity(pod, { [kind]: { ...affinity, preferredDuringSchedulingIgnoredDuringExecution: rest } });
  };

const dropNodePreference: Step = (pod) => {
  const nodeAffinity = pod.spec.affinity?.nodeAffinity;
  const rest = withoutHeaviest(nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution);
  if (rest === undefined) return undefined;
  return withAffinity(pod, {
    nodeAffinity: { ...nodeAffinity, preferredDuringSchedulingIgnoredDuringExecution: rest },
  });
};

/** Moves the last constraint to the position of the dropped one. This position determines which constraint is dropped next. */
const dropSpreadPreference: Step = (pod) => {
  const constraints = pod.spec.topologySpreadConstraints ?? [];
  const first = constraints.findIndex(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');
  const last = constraints.at(-1);
  if (first < 0 || last === undefined) return undefined;
  const rest = constraints.with(first, last).slice(0, -1);
  return { ...pod, spec: { ...pod.spec, topologySpreadConstraints: rest } };
};

const isSame = (a: Toleration): boolean =>
  a.operator === 'Exists' && a.effect === 'PreferNoSchedule' && !a.key && !a.value;

/** Returns the pod with a toleration for all `PreferNoSchedule` taints, or undefined if it already has this toleration. */
export const toleratePreferences: Step = (pod) => {
  const tolerations = pod.spec.tolerations ?? [];
  if (tolerations.some(isSame)) return undefined;
  return { ...pod, spec: { ...pod.spec, tolerations: [...tolerations, TOLERATE_PREFERENCE] } };
};

const STEPS: readonly Step[] = [
  dropRequiredTerm,
  dropPodPreference('podAffinity'),
  dropPodPreference('podAntiAffinity'),
  dropNodePreference,
  dropSpreadPreference,
];

/** Returns the pod without its next preference, or undefined if no preference is left. */
export function relax(pod: EnginePod, options: { readonly preferenceTaints: boolean }): EnginePod | undefined {
  const [, next] =
    pod.spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];
  const isLastResort = next !== undefined && lastResorts.has(next);
  for (const step of STEPS) {
    const relaxed = isLastResort && step === dropRequiredTerm ? undefined : step(pod);
    if (relaxed !== undefined) return relaxed;
  }
  const tolerant = options.preferenceTaints ? toleratePreferences(pod) : undefined;
  return tolerant ?? (isLastResort ? dropRequiredTerm(pod) : undefined);
}
