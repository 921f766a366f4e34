/** Changes a copy of a NodePool. */
import type { NodePool } from '#api/objects';
import { limitErrors, requirementProblems } from '#api/validation';
import type { LimitChange, NodePoolChange, RequireChange } from './change.ts';

/** Returns the NodePool with another limit, or another requirement for a label. Returns a text if the change is not valid. */
export function changedNodePool(nodePool: NodePool, change: NodePoolChange): NodePool | string {
  return change.verb === 'limit' ? withLimit(nodePool, change) : withRequirement(nodePool, change);
}

function withLimit(nodePool: NodePool, { resource, amount }: LimitChange): NodePool | string {
  const errors = limitErrors({ [resource]: amount });
  if (errors.length > 0) return invalid(nodePool, errors);
  const { spec } = nodePool;
  return { ...nodePool, spec: { ...spec, limits: { ...spec.limits, [resource]: amount } } };
}

function withRequirement(nodePool: NodePool, { key, values }: RequireChange): NodePool | string {
  const own = values.length === 0 ? [] : [{ key, operator: 'In' as const, values: [...values] }];
  const errors = requirementProblems(own);
  if (errors.length > 0) return invalid(nodePool, errors);
  const { spec } = nodePool;
  const { requirements = [] } = spec.template.spec;
  const others = requirements.filter((requirement) => requirement.key !== key);
  const template = { ...spec.template, spec: { ...spec.template.spec, requirements: [...others, ...own] } };
  return { ...nodePool, spec: { ...spec, template } };
}

const invalid = ({ metadata }: NodePool, errors: readonly string[]): string =>
  `NodePool "${metadata.name}" would not be valid: ${errors.join('; ')}`;
