/** CapacityQuota: amounts that the nodes with some labels must not exceed together (feature gate CapacityQuota). */
import type { LabelSelector, LabelSelectorRequirement } from './kubernetes.ts';
import {
  type Declared,
  int64,
  list,
  object,
  optional,
  patternLike,
  quantityMap,
  rule,
  stringMap,
  text,
} from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions } from './shapes.ts';

/** Integers with an optional suffix. */
const INTEGER_QUANTITY = /^\+?[0-9]+(([KMGTPE]i)|[kMGTPE]|([eE]\+?[0-9]+))?$/;
const MOST_RESOURCES = 20;
const LONGEST_NAME = 63;

const selector = object(
  {
    matchLabels: optional(stringMap({ description: 'Labels of the nodes. All of them must match.' })),
    matchExpressions: optional(
      list(
        object({
          key: text({ description: 'Label of the nodes.' }),
          operator: text({ description: 'In, NotIn, Exists or DoesNotExist.' }),
          values: optional(
            list(text(), { description: 'Values for In and NotIn. Absent for other operators.', merge: 'atomic' }),
          ),
        }),
        { description: 'Requirements on the labels of the nodes. All of them must hold.', merge: 'atomic' },
      ),
    ),
  },
  { description: 'Labels of the nodes that count, of any owner. Default: all nodes.', mapType: 'atomic' },
);

const capacityQuotaSpec = object(
  {
    selector: optional(selector),
    limits: object(
      {
        resources: quantityMap({
          description:
            'Maximum amounts of the nodes together: `cpu`, `memory`, `nodes`, or extended resources such as `nvidia.com/gpu`.',
          maxProperties: MOST_RESOURCES,
          pattern: patternLike(INTEGER_QUANTITY.source, '100'),
          rules: [
            rule(
              `self.all(name, name.size() <= ${LONGEST_NAME})`,
              `Resource names must be ${LONGEST_NAME} characters or less.`,
            ),
          ],
        }),
      },
      { description: 'Limits of the nodes.' },
    ),
  },
  { description: 'Desired state.' },
);

const capacityQuotaStatus = object(
  {
    used: optional(
      object(
        {
          resources: quantityMap({
            description:
              'Amount of each limited resource. Nodes that are being launched count with their largest amount.',
          }),
        },
        { description: 'Amounts that count toward the limits.' },
      ),
    ),
    observedGeneration: optional(int64({ description: 'Generation that the status is for.' })),
    conditions: optional(conditions()),
  },
  { description: 'Observed state.' },
);

export type CapacityQuota = Resource<typeof capacityQuotaSpec, typeof capacityQuotaStatus>;
export type CapacityQuotaSpec = Declared<typeof capacityQuotaSpec>;

export const CAPACITY_QUOTA_DECLARATION: ResourceDeclaration = {
  group: 'autoscaling.x-k8s.io',
  version: 'v1beta1',
  kind: 'CapacityQuota',
  plural: 'capacityquotas',
  singular: 'capacityquota',
  shortNames: ['cq'],
  scope: 'Cluster',
  category: 'autoscaling',
  description: 'CapacityQuota limits the amounts of the nodes with some labels together, of any NodePool or owner.',
  columns: [
    {
      name: 'Reconciled',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="Reconciled")].status',
    },
    {
      name: 'WithinLimits',
      type: 'string',
      jsonPath: '.status.conditions[?(@.type=="WithinLimits")].status',
    },
    { name: 'Nodes', type: 'string', jsonPath: '.status.used.resources.nodes' },
    { name: 'CPU', type: 'string', jsonPath: '.status.used.resources.cpu' },
    columns.age,
  ],
  spec: capacityQuotaSpec,
  status: capacityQuotaStatus,
};

const NAME = /^(?=.{1,63}$)[A-Za-z0-9]([A-Za-z0-9_.-]*[A-Za-z0-9])?$/;
const DOMAIN = /^(?=.{1,253}$)[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/;

function isLabelKey(key: string): boolean {
  const slash = key.lastIndexOf('/');
  return NAME.test(key.slice(slash + 1)) && (slash < 0 || DOMAIN.test(key.slice(0, slash)));
}

const isLabelValue = (value: string): boolean => value === '' || NAME.test(value);

/** Returns the reason why the API server would reject an expression of a selector of labels, with the remedy. */
function expressionError({
  key,
  operator,
  values = [],
}: {
  key: string;
  operator: string;
  values?: readonly string[];
}) {
  if (!isLabelKey(key)) return `key "${key}" is not a valid label; use a name such as "team" or "example.com/team"`;
  if (operator === 'Exists' || operator === 'DoesNotExist')
    return values.length === 0
      ? undefined
      : `${operator} of "${key}" must have no values; remove the values, or use In`;
  if (operator !== 'In' && operator !== 'NotIn')
    return `operator "${operator}" of "${key}" is not valid; use In, NotIn, Exists or DoesNotExist`;
  if (values.length === 0)
    return `${operator} of "${key}" must have a value; add a value, or use Exists or DoesNotExist`;
  const invalid = values.find((value) => !isLabelValue(value));
  return invalid === undefined ? undefined : `value "${invalid}" of "${key}" is not a valid label value`;
}

/** Parts of a quota that hold. */
export interface ReadQuota {
  /** Without invalid expressions, so that the quota selects at least the nodes that a valid selector would select. */
  readonly selector: LabelSelector;
  /** Amounts that can be read. */
  readonly limits: Readonly<Record<string, string>>;
  /** Resources with an amount that cannot be read. No node that has them may be launched. */
  readonly unreadable: readonly string[];
  /** Paths and errors of invalid parts, with remedies. */
  readonly errors: readonly string[];
}

/** Reads a quota. An invalid part never lifts the limit: the selector gets wider, and the amount becomes zero. */
export function readQuota({ spec }: CapacityQuota): ReadQuota {
  const errors: string[] = [];
  const { matchLabels = {}, matchExpressions = [] } = spec.selector ?? {};
  const given = [
    ...Object.entries(matchLabels).map(([key, value]) => ({
      path: `matchLabels[${key}]`,
      expression: { key, operator: 'In', values: [value] },
    })),
    ...matchExpressions.map((expression, at) => ({ path: `matchExpressions[${at}]`, expression })),
  ];
  const valid = given.filter(({ path, expression }) => {
    const error = expressionError(expression);
    if (error !== undefined) errors.push(`spec.selector.${path}: ${error}`);
    return error === undefined;
  });
  const amounts = Object.entries(spec.limits.resources).map(([name, amount]) => [name, String(amount)] as const);
  const unreadable = amounts.filter(([, amount]) => !INTEGER_QUANTITY.test(amount));
  for (const [name, amount] of unreadable)
    errors.push(
      `spec.limits.resources.${name}: "${amount}" is not a non-negative integer; use a number with an optional suffix, such as "32Gi"`,
    );
  const expressions = valid.map(({ expression }) => expression as LabelSelectorRequirement);
  return {
    selector: { matchExpressions: expressions },
    limits: Object.fromEntries(amounts.filter(([, amount]) => INTEGER_QUANTITY.test(amount))),
    unreadable: unreadable.map(([name]) => name),
    errors,
  };
}
