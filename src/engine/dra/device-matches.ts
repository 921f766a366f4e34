/** Evaluates the selectors of requests on devices. Each look is evaluated once by each selector. */
import { LRUCache } from 'lru-cache';
import { SelectorError } from '#api/devices';
import type { Alternative, CompiledSelector } from './claim-requests.ts';
import type { DeviceLook, PoolDevice } from './pool-device.ts';
import type { SearchBudget } from './search-budget.ts';

/** Number of selectors whose results are kept for each look. */
const KEPT = 200;

const results = new WeakMap<DeviceLook, LRUCache<string, boolean | SelectorError>>();

function resultOf(
  look: DeviceLook,
  { text, selector }: CompiledSelector,
  budget: SearchBudget,
): boolean | SelectorError {
  let known = results.get(look);
  if (known === undefined) {
    known = new LRUCache({ max: KEPT });
    results.set(look, known);
  }
  let result = known.get(text);
  if (result === undefined) {
    let cost = 0;
    result = evaluated(look, selector, (units) => {
      cost = units;
    });
    known.set(text, result);
    budget.spendUnits(cost);
  }
  return result;
}

function evaluated(
  look: DeviceLook,
  selector: CompiledSelector['selector'],
  onCost: (units: number) => void,
): boolean | SelectorError {
  try {
    return selector.matches(look.seen, onCost);
  } catch (error) {
    if (error instanceof SelectorError) return error;
    throw error;
  }
}

/** First selector that does not accept a device. */
export interface Mismatch {
  readonly text: string;
  /** The evaluation failed. */
  readonly error?: SelectorError;
}

/** Returns the first selector that does not accept the device, or undefined. */
export function mismatchOf(
  { look }: PoolDevice,
  { selectors }: Alternative,
  budget: SearchBudget,
): Mismatch | undefined {
  for (const selector of selectors) {
    const result = resultOf(look, selector, budget);
    if (result === true) continue;
    return result === false ? selector : { text: selector.text, error: result };
  }
  return undefined;
}
