/** Requirements of a pod, and the relaxation of its preferences. */
import type { Affinity, LabelSelector, Pod, PodSpec, StringMap, Taint } from '#api/objects';
import { type Resources, tolerates } from '#engine/model';
import { and, labelRequirements, type Requirements, requirementsOf } from './requirements.ts';

export const namespaceOf = ({ metadata }: Pod): string => metadata.namespace ?? 'default';
export const keyOf = (pod: Pod): string => `${namespaceOf(pod)}/${pod.metadata.name}`;
export const uidOf = ({ metadata }: Pod): string => metadata.uid ?? '';
export const isTerminal = ({ status }: Pod): boolean => status?.phase === 'Failed' || status?.phase === 'Succeeded';
export const isDaemon = ({ metadata }: Pod): boolean =>
  (metadata.ownerReferences ?? []).some(({ kind }) => kind === 'DaemonSet');

export const toleratesAll = ({ tolerations = [] }: Pick<PodSpec, 'tolerations'>, taints: readonly Taint[]): boolean =>
  taints.every((taint) => tolerations.some((each) => tolerates(each, taint)));

/** Returns true if the tolerations cover every taint except preferences, as kube-scheduler requires on existing nodes. */
export const isAdmitted = (spec: Pick<PodSpec, 'tolerations'>, taints: readonly Taint[]): boolean =>
  toleratesAll(
    spec,
    taints.filter(({ effect }) => effect !== 'PreferNoSchedule'),
  );

/** Sorts by descending weight. Equal weights keep their order. */
const byWeight = <T extends { readonly weight: number }>(list: readonly T[] = []): readonly T[] =>
  list.toSorted((a, b) => b.weight - a.weight);

export const requiredTerms = ({ spec }: Pod) =>
  spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms ?? [];

/** Returns the requirements with the first required term and only the preference of the highest weight. */
export function podRequirements(pod: Pod, { preferences }: { readonly preferences: boolean }): Requirements {
  const { nodeSelector, affinity } = pod.spec;
  const preferred = byWeight(affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution)[0];
  return and(
    labelRequirements(nodeSelector),
    requirementsOf(requiredTerms(pod)[0]?.matchExpressions),
    requirementsOf(preferences ? preferred?.preference.matchExpressions : []),
  );
}

const withSpec = (pod: Pod, spec: Partial<PodSpec>): Pod => ({ ...pod, spec: { ...pod.spec, ...spec } });
const withAffinity = (pod: Pod, affinity: Affinity): Pod =>
  withSpec(pod, { affinity: { ...pod.spec.affinity, ...affinity } });

function withoutFirstTerm(pod: Pod): Pod | undefined {
  const terms = requiredTerms(pod);
  if (terms.length < 2) return undefined;
  const requiredDuringSchedulingIgnoredDuringExecution = { nodeSelectorTerms: terms.slice(1) };
  return withAffinity(pod, {
    nodeAffinity: { ...pod.spec.affinity?.nodeAffinity, requiredDuringSchedulingIgnoredDuringExecution },
  });
}

const withoutHeaviest =
  (kind: keyof Affinity) =>
  (pod: Pod): Pod | undefined => {
    const own = pod.spec.affinity?.[kind];
    const left = byWeight<{ readonly weight: number }>(own?.preferredDuringSchedulingIgnoredDuringExecution);
    if (left.length === 0) return undefined;
    return withAffinity(pod, { [kind]: { ...own, preferredDuringSchedulingIgnoredDuringExecution: left.slice(1) } });
  };

/** Removes a soft constraint and moves the last constraint to its position. */
function withoutSoftSpread(pod: Pod): Pod | undefined {
  const all = pod.spec.topologySpreadConstraints ?? [];
  const soft = all.findIndex(({ whenUnsatisfiable }) => whenUnsatisfiable === 'ScheduleAnyway');
  if (soft < 0) return undefined;
  const last = all.slice(-1);
  return withSpec(pod, { topologySpreadConstraints: all.toSpliced(soft, 1, ...last).slice(0, -1) });
}

export function toleratingPreferences(pod: Pod): Pod | undefined {
  const all = pod.spec.tolerations ?? [];
  const isThere = all.some(
    ({ key, operator, value, effect }) => operator === 'Exists' && effect === 'PreferNoSchedule' && !key && !value,
  );
  if (isThere) return undefined;
  return withSpec(pod, { tolerations: [...all, { operator: 'Exists', effect: 'PreferNoSchedule' }] });
}

const RELAXATIONS = [
  withoutFirstTerm,
  withoutHeaviest('podAffinity'),
  withoutHeaviest('podAntiAffinity'),
  withoutHeaviest('nodeAffinity'),
  withoutSoftSpread,
];

/** Returns the pod with one preference less, or undefined if it has none. */
export function relaxed(pod: Pod, { taintsArePreferred }: { readonly taintsArePreferred: boolean }): Pod | undefined {
  const steps = taintsArePreferred ? [...RELAXATIONS, toleratingPreferences] : RELAXATIONS;
  for (const step of steps) {
    const less = step(pod);
    if (less) return less;
  }
  return undefined;
}

/** Reports whether the selector matches. An undefined selector matches nothing. */
export function selects(selector: LabelSelector | undefined, labels: StringMap = {}): boolean {
  if (!selector) return false;
  const exact = Object.entries(selector.matchLabels ?? {}).every(([key, value]) => labels[key] === value);
  return (
    exact &&
    (selector.matchExpressions ?? []).every(({ key, operator, values = [] }) => {
      const value = labels[key];
      const isListed = value !== undefined && values.includes(value);
      const holds = { In: isListed, NotIn: !isListed, Exists: value !== undefined, DoesNotExist: value === undefined };
      return holds[operator];
    })
  );
}

export interface HostPort {
  readonly ip: string;
  readonly port: number;
  readonly protocol: string;
}

export const hostPorts = ({ spec }: Pod): readonly HostPort[] =>
  spec.containers
    .flatMap(({ ports = [] }) => ports)
    .flatMap(({ hostPort, hostIP, protocol }) =>
      hostPort ? [{ ip: hostIP || '0.0.0.0', port: hostPort, protocol: protocol || 'TCP' }] : [],
    );

const isWildcard = (ip: string): boolean => ip === '0.0.0.0' || ip === '::';

export const portsClash = (wanted: readonly HostPort[], taken: readonly HostPort[]): boolean =>
  wanted.some((a) =>
    taken.some(
      (b) => a.port === b.port && a.protocol === b.protocol && (a.ip === b.ip || isWildcard(a.ip) || isWildcard(b.ip)),
    ),
  );

export function sum(...all: readonly Resources[]): Record<string, number> {
  const total: Record<string, number> = {};
  for (const each of all) for (const [name, amount] of Object.entries(each)) total[name] = (total[name] ?? 0) + amount;
  return total;
}

/** Reports whether the requests fit. Nothing fits if a resource is already overcommitted. */
export const fits = (requests: Resources, free: Resources): boolean =>
  Object.values(free).every((amount) => amount >= 0) &&
  Object.entries(requests).every(([name, amount]) => amount <= (free[name] ?? 0));
