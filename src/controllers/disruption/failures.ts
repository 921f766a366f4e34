/** Errors of steps that run concurrently. */

import { isConflict } from '../../kube/client.ts';
import { Requeue } from '../../kube/reconciler.ts';
import { messageOf } from '../../lib/error-message.ts';

/** Wraps an error and adds the name of the step that failed. */
export const during = (step: string, error: unknown): Error =>
  new Error(`${step}, ${messageOf(error)}`, { cause: error });

/** Combines the failures of a step into one error with the name of the step. */
export const together = (step: string, failures: readonly unknown[]): AggregateError =>
  new AggregateError(failures, `${step}, ${failures.map(messageOf).join('; ')}`);

/** Returns true if the error consists of write conflicts only. The next pass reads the current objects. */
export const isConflictOnly = (error: unknown): boolean =>
  error instanceof AggregateError ? error.errors.every(isConflictOnly) : error instanceof Requeue || isConflict(error);
