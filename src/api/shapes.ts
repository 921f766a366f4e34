/** Pieces of schema that several kinds share. */
import { Type } from 'typebox';
import { defined } from '../lib/defined.ts';
import type { Condition } from './kubernetes.ts';
import { CAPACITY_TYPE_LABEL, HOSTNAME_LABEL, NODEPOOL_LABEL } from './labels.ts';
import { type CelRule, choice, int64, integer, list, object, optional, rule, text, time } from './schema/declare.ts';

const QUALIFIED_NAME =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*(\\/))?([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$';
export const LABEL_VALUE = '^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$';
const DURATION = '^([0-9]+(s|m|h))+$';
const DURATION_OR_NEVER = '^(([0-9]+(s|m|h))+|Never)$';

/** A span such as `90s` or `1h30m`: whole seconds, minutes and hours. */
export const duration = (description: string) => text({ description, pattern: DURATION });

/** A span, or `Never`. */
export const durationOrNeverField = (description: string, fallback?: string) =>
  text({ description, pattern: DURATION_OR_NEVER, ...defined({ default: fallback }) });

const taint = object({
  key: text({ description: 'Name of the taint.', minLength: 1, pattern: QUALIFIED_NAME }),
  value: optional(text({ description: 'Value that a toleration compares with.', pattern: QUALIFIED_NAME })),
  effect: choice(['NoSchedule', 'PreferNoSchedule', 'NoExecute'], {
    description: 'What happens to pods that do not tolerate the taint.',
  }),
  timeAdded: optional(time({ description: 'When the taint was added.' })),
});

export const taints = (description: string) => list(taint, { description, merge: 'atomic' });

/** Reference to the cloud provider's configuration of nodes. */
export const nodeClassRef = (description: string, rules: readonly CelRule[] = []) =>
  object(
    {
      group: text({
        description: 'API group of the node class, such as `karpenter.k8s.aws`.',
        pattern: '^[^/]*$',
        rules: [rule("self != ''", 'group may not be empty')],
      }),
      kind: text({
        description: 'Kind of the node class, such as `EC2NodeClass`.',
        rules: [rule("self != ''", 'kind may not be empty')],
      }),
      name: text({
        description: 'Name of the node class.',
        rules: [rule("self != ''", 'name may not be empty')],
      }),
    },
    { description, rules },
  );

/** Keys under a domain that users may not use, except some of them. */
const domainRule = (domain: string, allowed: readonly string[]): CelRule => {
  const exceptions = allowed.map((key) => `'${key}'`).join(', ');
  return rule(
    `self in [${exceptions}] || !self.find('^[^/]+').endsWith('${domain}')`,
    `label domain "${domain}" is restricted`,
  );
};

/** Rules for a label key that users may set or select on; `allowedAws` are the exceptions under `karpenter.k8s.aws`. */
export const keyRules = (allowedAws: readonly string[], { nodePoolKey }: { nodePoolKey: boolean }): CelRule[] => [
  domainRule('karpenter.sh', [CAPACITY_TYPE_LABEL, NODEPOOL_LABEL]),
  ...(nodePoolKey ? [] : [rule(`self != '${NODEPOOL_LABEL}'`, `label "${NODEPOOL_LABEL}" is restricted`)]),
  rule(`self != '${HOSTNAME_LABEL}'`, `label "${HOSTNAME_LABEL}" is restricted`),
  domainRule('karpenter.k8s.aws', allowedAws),
];

/** The same rules over every key of a map. */
export const mapKeyRules = (rules: readonly CelRule[]): CelRule[] =>
  rules.map((each) => ({ ...each, rule: `self.all(key, ${each.rule.replaceAll('self', 'key')})` }));

export const OPERATORS = ['Gte', 'Lte', 'In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt'] as const;

/** Fields of a requirement on a label. */
const requirementFields = (rules: readonly CelRule[]) => ({
  key: text({ description: 'Label that the requirement is about.', maxLength: 316, pattern: QUALIFIED_NAME, rules }),
  operator: choice(OPERATORS, { description: 'How the label relates to the values.' }),
  values: optional(
    list(text(), {
      description:
        'Values to compare with: at least one for In, exactly one integer for Gt, Gte, Lt and Lte, none for Exists and DoesNotExist.',
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
          description: 'Fewest different values that must stay possible (alpha).',
          minimum: 1,
          maximum: 50,
        }),
      ),
    }),
    {
      description: 'What the labels of a node must be.',
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
    description: 'Labels of the instance types and offerings that the overlay changes.',
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

const CONDITION_TYPE =
  '^([a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*/)?(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])$';
const REASON = '^[A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?$';
const REASON_OR_EMPTY = '^([A-Za-z]([A-Za-z0-9_,:]*[A-Za-z0-9_])?)?$';

const conditionList = (item: ReturnType<typeof object>, listType: boolean) =>
  list(Type.Unsafe<Condition>(item), {
    description: 'What controllers found out about the object.',
    ...(listType && { merge: { mapKeys: ['type'] } }),
  });

const commonCondition = {
  lastTransitionTime: time({ description: 'When the status last changed.' }),
  observedGeneration: optional(
    int64({ description: 'Generation of the object that the condition was found for.', minimum: 0 }),
  ),
  status: choice(['True', 'False', 'Unknown'], { description: 'Whether the condition holds.' }),
  type: text({ description: 'What the condition is about.', maxLength: 316, pattern: CONDITION_TYPE }),
};

const REASON_DESCRIPTION = 'One word for why the condition is as it is.';
const MESSAGE_DESCRIPTION = 'The same for people.';

/** Conditions as Kubernetes declares them: reason and message are required. */
export const conditions = () =>
  conditionList(
    object({
      ...commonCondition,
      reason: text({ description: REASON_DESCRIPTION, minLength: 1, maxLength: 1024, pattern: REASON }),
      message: text({ description: MESSAGE_DESCRIPTION, maxLength: 32_768 }),
    }),
    true,
  );

/** Conditions of a NodeClaim: reason and message may be left out. */
export const nodeClaimConditions = () =>
  conditionList(
    object({
      ...commonCondition,
      reason: optional(text({ description: REASON_DESCRIPTION, maxLength: 1024, pattern: REASON_OR_EMPTY })),
      message: optional(text({ description: MESSAGE_DESCRIPTION, maxLength: 32_768 })),
    }),
    true,
  );
