/** Schemas that several kinds share. */
import { defined } from '#lib';
import type { Condition } from './kubernetes.ts';
import { CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, NODEPOOL_LABEL } from './labels.ts';
import {
  type CelRule,
  choice,
  int64,
  integer,
  list,
  object,
  optional,
  patternLike,
  rule,
  text,
  time,
  unsafe,
} from './schema/declare.ts';

const QUALIFIED_NAME = patternLike(
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$',
  'example.com/team',
);
export const LABEL_VALUE = patternLike('^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$', 'web');
const DURATION = patternLike('^([0-9]+(s|m|h))+$', '1h30m');
const DURATION_OR_NEVER = patternLike('^(([0-9]+(s|m|h))+|Never)$', '720h');

/** Field for a duration such as `90s` or `1h30m`, in whole seconds, minutes and hours. */
export const duration = (description: string) => text({ description, pattern: DURATION });

/** Field for a duration or `Never`. */
export const durationOrNeverField = (description: string, fallback?: string) =>
  text({ description, pattern: DURATION_OR_NEVER, ...defined({ default: fallback }) });

/** Fields of a limit on the number of nodes that may be unavailable at a time. */
export const budgetFields = {
  nodes: text({
    description:
      'Maximum number of nodes that may be disrupted at the same time: a number such as `5`, or a percentage of the nodes of the NodePool such as `10%`, rounded up.',
    default: '10%',
    pattern: patternLike('^((100|[0-9]{1,2})%|[0-9]+)$', '10%'),
  }),
  schedule: optional(
    text({
      description:
        'Start times of the budget in UTC: five cron fields, or a shortcut such as `@daily`. If it is not set, the budget is always active.',
      pattern: patternLike(
        '^(@(annually|yearly|monthly|weekly|daily|midnight|hourly))|((.+)\\s(.+)\\s(.+)\\s(.+)\\s(.+))$',
        '0 9 * * mon-fri',
      ),
    }),
  ),
  duration: optional(
    text({
      description: 'Duration for which the budget is active after each start time, in hours and minutes.',
      pattern: patternLike('^((([0-9]+(h|m))|([0-9]+h[0-9]+m))(0s)?)$', '8h30m'),
    }),
  ),
};

export const scheduleWithDuration = rule(
  'self.all(x, has(x.schedule) == has(x.duration))',
  "'schedule' must be set with 'duration'",
);

const taint = object({
  key: text({ description: 'Key of the taint.', minLength: 1, pattern: QUALIFIED_NAME }),
  value: optional(text({ description: 'Value of the taint.', pattern: QUALIFIED_NAME })),
  effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], {
    description: 'Effect on pods that do not tolerate the taint.',
  }),
  timeAdded: optional(time({ description: 'Time at which the taint was added.' })),
});

export const taints = (description: string) => list(taint, { description, merge: 'atomic' });

/** Field for the reference to a NodeClass. */
export const nodeClassRef = (description: string, rules: readonly CelRule[] = []) =>
  object(
    {
      group: text({
        description: 'API group of the NodeClass, such as `karpenter.k8s.aws`.',
        pattern: patternLike('^[^/]*$', 'karpenter.k8s.aws'),
        rules: [rule("self != ''", 'group may not be empty')],
      }),
      kind: text({
        description: 'Kind of the NodeClass, such as `EC2NodeClass`.',
        rules: [rule("self != ''", 'kind may not be empty')],
      }),
      name: text({
        description: 'Name of the NodeClass.',
        rules: [rule("self != ''", 'name may not be empty')],
      }),
    },
    { description, rules },
  );

/** Rule that rejects keys of a domain, except the allowed keys. */
const domainRule = (domain: string, allowed: readonly string[]): CelRule => {
  const exceptions = allowed.map((key) => `'${key}'`).join(', ');
  return rule(
    `self in [${exceptions}] || !self.find('^[^/]+').endsWith('${domain}')`,
    `label domain "${domain}" is restricted`,
  );
};

/** Rules for label keys that users may set or select. `allowedAws` are the allowed keys of the domain `karpenter.k8s.aws`. */
export const keyRules = (allowedAws: readonly string[], { nodePoolKey }: { nodePoolKey: boolean }): CelRule[] => [
  domainRule('karpenter.sh', [CAPACITY_TYPE_LABEL, NODEPOOL_LABEL]),
  ...(nodePoolKey ? [] : [rule(`self != '${NODEPOOL_LABEL}'`, `label "${NODEPOOL_LABEL}" is restricted`)]),
  rule(`self != '${HOSTNAME_LABEL}'`, `label "${HOSTNAME_LABEL}" is restricted`),
  domainRule('karpenter.k8s.aws', allowedAws),
];

/** Applies rules for a key to every key of a map. */
export const mapKeyRules = (rules: readonly CelRule[]): CelRule[] =>
  rules.map((each) => ({ ...each, rule: `self.all(key, ${each.rule.replaceAll('self', 'key')})` }));

export const OPERATORS = ['Gte', 'Lte', 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'] as const;

/** Fields of a requirement for a label. */
const requirementFields = (rules: readonly CelRule[]) => ({
  key: text({ description: 'Key of the label.', maxLength: 316, pattern: QUALIFIED_NAME, rules }),
  operator: choice(OPERATORS, { description: 'Operator that compares the label with the values.' }),
  values: optional(
    list(text(), {
      description:
        'Values for the comparison. In requires at least one value. Gt, Gte, Lt and Lte require exactly one integer. Exists and DoesNotExist require an empty list.',
      merge: 'atomic',
      keywords: { maxLength: 63, pattern: LABEL_VALUE },
    }),
  ),
});

const comparisonRule = (message: string): CelRule =>
  rule(
    "self.all(x, !(x.operator in ['Gt', 'Lt', 'Gte', 'Lte']) || (x.values.size() == 1 && int(x.values[0]) >= 0))",
    message,
  );

const inRule = rule(
  "self.all(x, x.operator != 'In' || x.values.size() != 0)",
  "requirements with operator 'In' must have a value defined",
);

/** Requirements of a NodePool or NodeClaim. */
export const nodeRequirements = (keys: readonly CelRule[]) =>
  list(
    object({
      ...requirementFields(keys),
      minValues: optional(
        integer({
          description: 'Minimum number of different values that instance types of the node must have (alpha).',
          minimum: 1,
          maximum: 50,
        }),
      ),
    }),
    {
      description: 'Requirements for the labels of a node.',
      merge: 'atomic',
      maxItems: 100,
      rules: [
        inRule,
        comparisonRule("requirements operator 'Gt', 'Lt', 'Gte', or 'Lte' must have a single positive integer value"),
        rule(
          "self.all(x, x.operator != 'In' || !has(x.minValues) || x.values.size() >= x.minValues)",
          "requirements with 'minValues' must have at least that many values specified in the 'values' field",
        ),
      ],
    },
  );

/** Requirements of a NodeOverlay. */
export const overlayRequirements = (keys: readonly CelRule[]) =>
  list(object(requirementFields(keys)), {
    description: 'Requirements for the labels of the instance types and offerings that the overlay changes.',
    merge: 'atomic',
    maxItems: 100,
    rules: [
      rule(
        "self.all(x, x.operator != 'NotIn' || x.values.size() != 0)",
        "requirements with operator 'NotIn' must have a value defined",
      ),
      inRule,
      comparisonRule("requirements operator 'Gt', 'Lt', 'Gte' or 'Lte' must have a single positive integer value"),
    ],
  });

const CONDITION_TYPE = patternLike(
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$',
  'Ready',
);
const REASON = patternLike('^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$', 'NotReady');
const REASON_OR_EMPTY = patternLike('^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$', 'NotReady');

const conditionList = (item: ReturnType<typeof object>, listType: boolean) =>
  list(unsafe<Condition>(item), {
    description: 'Conditions of the object.',
    ...(listType && { merge: { mapKeys: ['type'] } }),
  });

const commonCondition = {
  lastTransitionTime: time({ description: 'Time at which the status last changed.' }),
  observedGeneration: optional(
    int64({ description: 'Generation of the object for which the condition was set.', minimum: 0 }),
  ),
  status: choice(['True', 'False', 'Unknown'], { description: 'Status of the condition.' }),
  type: text({ description: 'Type of the condition.', maxLength: 316, pattern: CONDITION_TYPE }),
};

const REASON_DESCRIPTION = 'Machine-readable reason for the last transition, in CamelCase.';
const MESSAGE_DESCRIPTION = 'Human-readable message with details of the last transition.';

/** Conditions as in Kubernetes: reason and message are required. */
export const conditions = () =>
  conditionList(
    object({
      ...commonCondition,
      reason: text({ description: REASON_DESCRIPTION, minLength: 1, maxLength: 1024, pattern: REASON }),
      message: text({ description: MESSAGE_DESCRIPTION, maxLength: 32_768 }),
    }),
    true,
  );

/** Conditions of a NodeClaim: reason and message are optional. */
export const nodeClaimConditions = () =>
  conditionList(
    object({
      ...commonCondition,
      reason: optional(text({ description: REASON_DESCRIPTION, maxLength: 1024, pattern: REASON_OR_EMPTY })),
      message: optional(text({ description: MESSAGE_DESCRIPTION, maxLength: 32_768 })),
    }),
    true,
  );
