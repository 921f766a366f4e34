/** Errors of steps that run concurrently. */

import { isConflict } from '#kube/client';
import { Requeue } from '#kube/reconcilers';
import { messageOf } from '#lib';

/** Wraps an error and adds the name of the step that failed. */
const during = (step: string, error: unknown): Error => new Error(`${step}, ${messageOf(error)}`, { cause: error });

/** Combines the failures of a step into one error with the name of the step. */
export const together = (step: string, failures: readonly unknown[]): AggregateError =>
  new AggregateError(failures, `${step}, ${failures.map(messageOf).join('; ')}`);

/** Returns true if the error consists of write conflicts only. The next pass reads the current objects. */
const isConflictOnly = (error: unknown): boolean =>
  error instanceof AggregateError ? error.errors.every(isConflictOnly) : error instanceof Requeue || isConflict(error);

/** @throws Requeue if only write conflicts occurred, otherwise an Error that names the step */
export async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (isConflictOnly(error)) throw new Requeue(`${name}: write conflict`, { cause: error });
    throw during(name, error);
  }
}
