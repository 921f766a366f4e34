/**
 * Compiled lists of instance types, kept from one solve to the next: lists stay the same for minutes, and solves come by the
 * hundred. One form is kept of each list, and goes with it.
 */
import { isReserved } from '../instance-types.ts';
import type { InstanceType } from '../model.ts';
import { CompiledTypes } from './compiled-types.ts';
import type { Dimensions } from './dimensions.ts';

interface Kept {
  readonly compiled: CompiledTypes;
  readonly dimensions: string;
  readonly sellsReserved: boolean;
  uses: number;
}

/** A form remembers what it was asked: it is made anew before that can be much. */
const MOST_USES = 500;

const kept = new WeakMap<readonly InstanceType[], Kept>();

/** @param sellsReserved whether offerings that draw on a capacity reservation can be bought */
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
  const compiled = new CompiledTypes(types, dimensions, (offering) => sellsReserved || !isReserved(offering));
  kept.set(types, { compiled, dimensions: key, sellsReserved, uses: 1 });
  return compiled;
}
