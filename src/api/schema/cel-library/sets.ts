/** Lists as sets, and texts with places for values: extensions of the Common Expression Language that Kubernetes has. */
import type { Environment } from '@marcbachmann/cel-js';
import { charge, sizeOf } from '../cel-cost.ts';
import { canonical } from './canonical.ts';

/** What `sets.contains` and the like are called on. */
class SetFunctions {}

/** Values that are equal have one text: numbers by their value, whatever their type. */
function keysOf(items: readonly unknown[]): ReadonlySet<string> {
  charge(sizeOf(items));
  return new Set(items.map(canonical));
}

export function registerSets(environment: Environment): void {
  const contains = (_: SetFunctions, all: readonly unknown[], some: readonly unknown[]): boolean =>
    keysOf(some).isSubsetOf(keysOf(all));
  environment
    .registerType('SetFunctions', { ctor: SetFunctions, fields: {} })
    .registerConstant('sets', 'SetFunctions', new SetFunctions())
    .registerFunction('SetFunctions.contains(list, list): bool', contains)
    .registerFunction(
      'SetFunctions.equivalent(list, list): bool',
      (sets: SetFunctions, left: readonly unknown[], right: readonly unknown[]) =>
        contains(sets, left, right) && contains(sets, right, left),
    )
    .registerFunction(
      'SetFunctions.intersects(list, list): bool',
      (_: SetFunctions, left: readonly unknown[], right: readonly unknown[]) =>
        !keysOf(left).isDisjointFrom(keysOf(right)),
    );
}
