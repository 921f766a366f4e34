/** Runs the disruption methods on a snapshot, in the same way as the operator runs them on the cluster. */
import { type ConsolidationMode, consolidationPolicy } from '#api/values';
import type { Method } from './method.ts';
import { drift } from './methods/drift.ts';
import { emptiness } from './methods/emptiness.ts';
import { multiNode } from './methods/multi-node.ts';
import { singleNode } from './methods/single-node.ts';
import { staticDrift } from './methods/static-drift.ts';
import { swap } from './methods/swap.ts';
import { decide, type PassInput, prepare } from './pass.ts';
import type { MethodReview } from './verdicts.ts';

/** All methods, in the order of their runs. The first method with a command ends the pass. */
export const METHODS: readonly Method[] = [emptiness, staticDrift, drift, multiNode, singleNode, swap];

/** Returns the methods that an operator runs in a consolidation mode, in order. */
export function enabledMethods(mode: ConsolidationMode, hasStaticCapacity: boolean): readonly Method[] {
  const { swapsNodes } = consolidationPolicy(mode);
  return METHODS.filter((method) => method.runsIn?.({ swapsNodes, hasStaticCapacity }) ?? true);
}

/** Returns the methods of a consolidation mode, in order. */
export const methodsOf = (mode: ConsolidationMode): readonly Method[] => enabledMethods(mode, true);

/** Runs a method on the nodes. */
export async function review(method: Method, pass: PassInput): Promise<MethodReview> {
  const startedMs = pass.elapsedMs();
  const elapsedMs = (): number => pass.elapsedMs() - startedMs;
  const { input, ...preparation } = await prepare(method, { ...pass, elapsedMs });
  return { ...preparation, result: await decide({ ...preparation, input }) };
}
