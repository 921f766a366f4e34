/**
 * Caches compiled lists of instance types between solves, because lists stay the same for minutes and there are hundreds of
 * solves. Each list has at most one compiled form, with the same lifetime as the list.
 */
import { compareText, isReserved } from '../instance-types.ts';
import type { InstanceType } from '../model.ts';
import { CompiledTypes } from './compiled-types.ts';
import type { Dimensions } from './dimensions.ts';

interface Kept {
  readonly compiled: CompiledTypes;
  readonly dimensions: string;
  readonly sellsReserved: boolean;
  uses: number;
}

/** Maximum number of uses. A compiled form caches results, so it is replaced before the cache can grow large. */
const MOST_USES = 500;

const kept = new WeakMap<readonly InstanceType[], Kept>();

/** @param sellsReserved true if offerings that use a capacity reservation can be launched */
export function compiledTypesOf(
  types: readonly InstanceType[],
  dimensions: Dimensions,
  sellsReserved: boolean,
): CompiledTypes {
  const key = dimensions.names.join();
  const known = kept.get(types);
  if (known?.dimensions === key && known.sellsReserved === sellsReserved && known.uses < MOST_USES) {
    known.uses += 1;
    return known.compiled;
  }
  // sorted, because the first of equal types is used, and plans must not depend on the order of the catalogue
  const sorted = types.toSorted((a, b) => compareText(a.name, b.name));
  const compiled = new CompiledTypes(sorted, dimensions, (offering) => sellsReserved || !isReserved(offering));
  kept.set(types, { compiled, dimensions: key, sellsReserved, uses: 1 });
  return compiled;
}
