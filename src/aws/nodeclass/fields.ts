/** First step of a NodeClass: rejects values that the API server accepts although they are not usable. */
import type { EC2NodeClass } from '#api/objects';
import { labelValueErrors, parseQuantity } from '#api/values';
import { tryRun } from '#lib';
import type { NodeClassStep, StepTools } from './step.ts';

const TYPE = 'ValidationSucceeded';

/**
 * Describes the errors that prevent the other steps and launches from reading the NodeClass. Returns an empty list if
 * it is valid.
 */
export function fieldErrors({ metadata, spec }: EC2NodeClass): readonly string[] {
  const names = labelValueErrors(metadata.name).map(
    (detail) =>
      `metadata.name: "${metadata.name}" ${detail}, because it is a label value on every node; create the EC2NodeClass with another name`,
  );
  // the API server accepts an object without a spec
  if (spec === undefined) return [...names, 'spec: must be set'];
  const { blockDeviceMappings = [] } = spec;
  return [
    ...names,
    ...blockDeviceMappings.flatMap(({ ebs }, index) => {
      const path = `spec.blockDeviceMappings[${index}].ebs`;
      if (ebs === undefined) return [`${path}: must be set, or the mapping must be removed`];
      return ebs.volumeSize === undefined || isReadable(ebs.volumeSize)
        ? []
        : [`${path}.volumeSize: "${ebs.volumeSize}" must be a number with Gi, G, Ti or T, for example 100Gi`];
    }),
  ];
}

const isReadable = (quantity: string): boolean => (tryRun(() => parseQuantity(quantity)) ?? 0) > 0;

/** Stops the reconciliation before any request to AWS if a field is invalid. */
export const fieldsStep =
  ({ setCondition }: StepTools): NodeClassStep =>
  async (nodeClass) => {
    const errors = fieldErrors(nodeClass);
    if (errors.length === 0) return { nodeClass };
    const message = errors.join('; ');
    const failed = setCondition(nodeClass, { type: TYPE, status: 'False', reason: 'InvalidFields', message });
    return { nodeClass: failed, error: new Error(message), terminal: true, last: true };
  };
