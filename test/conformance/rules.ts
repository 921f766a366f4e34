/**
 * Independent implementation of Kubernetes' scheduling rules with plain labels and numbers, so that the engine does not
 * judge itself.
 */

export interface Expression {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export interface Selector {
  readonly matchLabels?: Labels;
  readonly matchExpressions?: readonly Expression[];
}

export interface Taint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface Term {
  readonly topologyKey: string;
  readonly labelSelector?: Selector;
}

export interface PodSpec {
  readonly nodeName?: string;
  readonly nodeSelector?: Labels;
  readonly containers: readonly Container[];
  readonly initContainers?: readonly Container[];
  readonly tolerations?: readonly { key?: string; operator?: string; value?: string; effect?: string }[];
  readonly topologySpreadConstraints?: readonly (Term & { maxSkew: number; whenUnsatisfiable: string })[];
  readonly affinity?: {
    readonly nodeAffinity?: {
      readonly requiredDuringSchedulingIgnoredDuringExecution?: {
        readonly nodeSelectorTerms: readonly { readonly matchExpressions?: readonly Expression[] }[];
      };
    };
    readonly podAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly Term[] };
    readonly podAntiAffinity?: { readonly requiredDuringSchedulingIgnoredDuringExecution?: readonly Term[] };
  };
}

interface Container {
  readonly resources?: { readonly requests?: Quantities; readonly limits?: Quantities };
  readonly ports?: readonly { readonly hostPort?: number }[];
}

export type Labels = Readonly<Record<string, string>>;
export type Quantities = Readonly<Record<string, string | number>>;
export type Amounts = Record<string, number>;

const UNITS: Readonly<Record<string, number>> = {
  '': 1,
  m: 1e-3,
  k: 1e3,
  M: 1e6,
  G: 1e9,
  Ki: 2 ** 10,
  Mi: 2 ** 20,
  Gi: 2 ** 30,
  Ti: 2 ** 40,
};

export function amountOf(quantity: string | number): number {
  const [, digits, unit = ''] = /^([\d.]+)([a-zA-Z]*)$/.exec(String(quantity)) ?? [];
  const factor = UNITS[unit];
  if (digits === undefined || factor === undefined) throw new Error(`Cannot read quantity ${quantity}`);
  return Number(digits) * factor;
}

export function addTo(sum: Amounts, list: Quantities | undefined): Amounts {
  for (const [name, quantity] of Object.entries(list ?? {})) sum[name] = (sum[name] ?? 0) + amountOf(quantity);
  return sum;
}

export function requestsOf({ containers, initContainers = [] }: PodSpec): Amounts {
  const own = ({ resources }: Container): Quantities => ({ ...resources?.limits, ...resources?.requests });
  const sum: Amounts = { pods: 1 };
  for (const container of containers) addTo(sum, own(container));
  for (const container of initContainers)
    for (const [name, amount] of Object.entries(addTo({}, own(container))))
      sum[name] = Math.max(sum[name] ?? 0, amount);
  return sum;
}

export function holds({ key, operator, values = [] }: Expression, labels: Labels): boolean {
  const value = labels[key];
  const [bound = ''] = values;
  switch (operator) {
    case 'In':
      return value !== undefined && values.includes(value);
    case 'NotIn':
      return value === undefined || !values.includes(value);
    case 'Exists':
      return value !== undefined;
    case 'DoesNotExist':
      return value === undefined;
    case 'Gt':
      return Number(value) > Number(bound);
    case 'Gte':
      return Number(value) >= Number(bound);
    case 'Lt':
      return Number(value) < Number(bound);
    case 'Lte':
      return Number(value) <= Number(bound);
    default:
      throw new Error(`Unknown operator ${operator}`);
  }
}

export const selected = ({ matchLabels = {}, matchExpressions = [] }: Selector, labels: Labels): boolean =>
  Object.entries(matchLabels).every(([key, value]) => labels[key] === value) &&
  matchExpressions.every((expression) => holds(expression, labels));

/** Returns the reason why a pod must not run on a node with these labels and taints. */
export function objection(spec: PodSpec, labels: Labels, taints: readonly Taint[]): string | undefined {
  for (const [key, value] of Object.entries(spec.nodeSelector ?? {})) {
    if (labels[key] !== value) return `node selector ${key}=${value}`;
  }
  const terms = spec.affinity?.nodeAffinity?.requiredDuringSchedulingIgnoredDuringExecution?.nodeSelectorTerms;
  const meets = (expressions: readonly Expression[] = []): boolean => expressions.every((each) => holds(each, labels));
  if (terms !== undefined && !terms.some(({ matchExpressions }) => meets(matchExpressions))) return 'node affinity';
  const hard = taints.filter(({ effect }) => effect !== 'PreferNoSchedule');
  const untolerated = hard.find((taint) => !(spec.tolerations ?? []).some((each) => covers(each, taint)));
  return untolerated === undefined ? undefined : `taint ${untolerated.key}`;
}

function covers(toleration: NonNullable<PodSpec['tolerations']>[number], taint: Taint): boolean {
  if (toleration.effect && toleration.effect !== taint.effect) return false;
  if (toleration.operator === 'Exists') return !toleration.key || toleration.key === taint.key;
  return toleration.key === taint.key && (toleration.value ?? '') === (taint.value ?? '');
}
