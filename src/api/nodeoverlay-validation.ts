/** Validation of NodeOverlays beyond the validation of the API server. */
import { messageOf } from '../lib/error-message.ts';
import { requirementErrors } from './labels.ts';
import type { NodeOverlay } from './nodeoverlay.ts';
import { readQuantity } from './quantity.ts';

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
