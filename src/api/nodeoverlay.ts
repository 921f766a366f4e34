/** NodeOverlay: changes prices and adds extended resources of instance types (feature gate NodeOverlay). */

import { messageOf } from '#lib';
import { KARPENTER_GROUP, OVERLAY_AWS_KEYS, requirementErrors } from './labels.ts';
import { readQuantity } from './quantity.ts';
import { type Declared, int32, object, optional, patternLike, quantityMap, rule, text } from './schema/declare.ts';
import { columns, type Resource, type ResourceDeclaration } from './schema/resource.ts';
import { conditions, keyRules, overlayRequirements } from './shapes.ts';

const nodeOverlaySpec = object(
  {
    requirements: overlayRequirements(keyRules(OVERLAY_AWS_KEYS, { nodePoolKey: true })),
    price: optional(
      text({
        description: 'Price in USD per hour, which replaces the known price.',
        pattern: patternLike('^\\d+(\\.\\d+)?$', '0.35'),
      }),
    ),
    priceAdjustment: optional(
      text({
        description:
          'Change of the known price: an amount in USD such as `+0.5` or `-1`, or a percentage such as `-10%`.',
        pattern: patternLike(
          '^(([+-]{1}(\\d*\\.?\\d+))|(\\+{1}\\d*\\.?\\d+%)|(^(-\\d{1,2}(\\.\\d+)?%)$)|(-100%))$',
          '-10%',
        ),
      }),
    ),
    capacity: optional(
      quantityMap({
        description: 'Extended resources that are added to the instance types.',
        rules: [
          rule(
            "self.all(name, !(name in ['cpu', 'memory', 'ephemeral-storage', 'pods']))",
            'invalid resource restricted',
          ),
        ],
      }),
    ),
    weight: optional(
      int32({
        description: 'Priority of the overlay. If two overlays set the same value, the higher weight applies.',
        minimum: 1,
        maximum: 10_000,
      }),
    ),
  },
  {
    description: 'Changes, and the instance types to which they apply.',
    rules: [rule('!has(self.price) || !has(self.priceAdjustment)', "cannot set both 'price' and 'priceAdjustment'")],
  },
);

const nodeOverlayStatus = object({ conditions: optional(conditions()) }, { description: 'Observed state.' });

export type NodeOverlaySpec = Declared<typeof nodeOverlaySpec>;
export type NodeOverlay = Resource<typeof nodeOverlaySpec, typeof nodeOverlayStatus>;

export const NODE_OVERLAY_DECLARATION: ResourceDeclaration = {
  group: KARPENTER_GROUP,
  version: 'v1alpha1',
  kind: 'NodeOverlay',
  plural: 'nodeoverlays',
  singular: 'nodeoverlay',
  shortNames: ['overlays'],
  scope: 'Cluster',
  category: 'karpenter',
  description: 'NodeOverlay changes the price or adds extended resources of matching instance types.',
  columns: [columns.ready, columns.age, columns.weight],
  spec: nodeOverlaySpec,
  status: nodeOverlayStatus,
};

/** Resources that overlays must not change, because the instance type determines their amount. */
const RESTRICTED_RESOURCES = [
  'cpu',
  'memory',
  'ephemeral-storage',
  'pods',
  'vpc.amazonaws.com/pod-eni',
  'vpc.amazonaws.com/efa',
  'aws.amazon.com/neuron',
  'aws.amazon.com/neuroncore',
  'habana.ai/gaudi',
];

/** Returns all validation errors. */
export function nodeOverlayErrors(overlay: NodeOverlay): string[] {
  const { requirements, capacity, price, priceAdjustment } = overlay.spec;
  return [
    ...requirements.flatMap((requirement) => [
      ...requirementErrors(requirement),
      ...(requirement.operator === 'NotIn' && !requirement.values?.length
        ? [`key ${requirement.key} with operator NotIn must have a value defined`]
        : []),
    ]),
    ...Object.keys(capacity ?? {})
      .filter((name) => RESTRICTED_RESOURCES.includes(name))
      .map((name) => `invalid capacity: ${name} in resource, restricted`),
    ...Object.entries(capacity ?? {}).flatMap(([name, quantity]) => quantityErrors(name, quantity)),
    ...priceErrors({ price, priceAdjustment }),
  ];
}

/** Checks a quantity, because the API server accepts exponents with a fraction. */
function quantityErrors(name: string, quantity: string | number): string[] {
  try {
    readQuantity(quantity);
    return [];
  } catch (error) {
    return [`invalid capacity: ${messageOf(error)} in ${name}`];
  }
}

/** Maximum price in USD per hour, because the API server accepts any number of digits. */
const MOST_USD = 1_000_000;

const priceErrors = (prices: Readonly<Record<string, string | undefined>>): string[] =>
  Object.entries(prices).flatMap(([field, text]) =>
    text === undefined || Math.abs(Number.parseFloat(text)) <= MOST_USD
      ? []
      : [`invalid value: ${JSON.stringify(text.slice(0, 50))} in ${field}, must be no more than ${MOST_USD}`],
  );
