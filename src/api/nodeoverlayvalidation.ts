/** What the API server cannot check about a NodeOverlay. */
import { requirementErrors } from './labels.ts';
import type { NodeOverlay } from './nodeoverlay.ts';

/** Resources whose amount instance types decide; overlays add others. */
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

/** Everything that makes a NodeOverlay unusable; empty when it is sound. */
export function nodeOverlayErrors(overlay: NodeOverlay): string[] {
  const { requirements, capacity } = overlay.spec;
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
  ];
}
