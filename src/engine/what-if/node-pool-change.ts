/** Changes a copy of a NodePool. */
import type { NodePool } from '../../api/nodepool.ts';
import { parseQuantity } from '../../api/quantity.ts';
import type { NodePoolChange } from './change.ts';

/** Returns the NodePool with another limit, or another requirement for a label. Returns a text if the change is not valid. */
export function changedNodePool(nodePool: NodePool, change: NodePoolChange): NodePool | string {
  const { spec } = nodePool;
  if (change.verb === 'limit') {
    const { resource, amount } = change;
    try {
      parseQuantity(amount);
    } catch {
      return `"${amount}" is not a valid quantity; use a number with an optional suffix, such as 100 or 64Gi`;
    }
    return { ...nodePool, spec: { ...spec, limits: { ...spec.limits, [resource]: amount } } };
  }
  const { key, values } = change;
  const { requirements = [] } = spec.template.spec;
  const others = requirements.filter((requirement) => requirement.key !== key);
  const own = values.length === 0 ? [] : [{ key, operator: 'In' as const, values: [...values] }];
  const template = { ...spec.template, spec: { ...spec.template.spec, requirements: [...others, ...own] } };
  return { ...nodePool, spec: { ...spec, template } };
}
