/** Errors of steps that are taken side by side. */

import { isConflict } from '../../kube/client.ts';
import { Requeue } from '../../kube/reconciler.ts';
import { messageOf } from '../../lib/error-message.ts';

/** The error under the name of the step in which it happened. */
export const during = (step: string, error: unknown): Error =>
  new Error(`${step}, ${messageOf(error)}`, { cause: error });

/** All that was thrown, under the name of the step. */
export const together = (step: string, failures: readonly unknown[]): AggregateError =>
  new AggregateError(failures, `${step}, ${failures.map(messageOf).join('; ')}`);

/** Whether nothing is wrong but that somebody else wrote first: the next pass sees what they wrote. */
export const isConflictOnly = (error: unknown): boolean =>
  error instanceof AggregateError ? error.errors.every(isConflictOnly) : error instanceof Requeue || isConflict(error);
