/** Constraints between the devices of a claim. */
import type { Alternative, Constraint } from './claim-requests.ts';
import { type AttributeValues, type PoolDevice, qualifiedName, type RuntimeValue } from './pool-device.ts';

/** Values that a constraint has so far. A new device with a value and a device with a runtime value never fit together. */
export type ConstraintState =
  | { readonly kind: 'open' }
  | { readonly kind: 'values'; readonly values: AttributeValues }
  | { readonly kind: 'runtime'; readonly values: readonly RuntimeValue[] };

export const OPEN: ConstraintState = { kind: 'open' };

export const appliesTo = ({ requests }: Constraint, { name, request }: Alternative): boolean =>
  requests === undefined || requests.has(request) || requests.has(name);

/** Returns the state with one more device, or undefined if the device violates the constraint. */
export function withDevice(
  { kind, attribute }: Constraint,
  state: ConstraintState,
  device: PoolDevice,
): ConstraintState | undefined {
  const name = qualifiedName(attribute, device.driver);
  const values = device.look.attributes.get(name);
  if (values !== undefined) return state.kind === 'runtime' ? undefined : withValues(kind, state, values);
  const runtime = device.runtime.get(name);
  if (runtime === undefined || state.kind === 'values') return undefined;
  return withRuntimeValue(kind, state, runtime);
}

function withValues(
  kind: Constraint['kind'],
  state: Exclude<ConstraintState, { kind: 'runtime' }>,
  values: AttributeValues,
): ConstraintState | undefined {
  if (state.kind === 'open') return { kind: 'values', values };
  if (kind === 'match') {
    const common = state.values.intersection(values);
    return common.size === 0 ? undefined : { kind: 'values', values: common };
  }
  return state.values.isDisjointFrom(values) ? { kind: 'values', values: state.values.union(values) } : undefined;
}

function withRuntimeValue(
  kind: Constraint['kind'],
  state: Exclude<ConstraintState, { kind: 'values' }>,
  value: RuntimeValue,
): ConstraintState | undefined {
  const known = state.kind === 'open' ? [] : state.values;
  const fits = known.every((other) =>
    kind === 'match'
      ? other.group === value.group
      : other.group !== value.group && other.isDistinct && value.isDistinct,
  );
  return fits ? { kind: 'runtime', values: [...known, value] } : undefined;
}
