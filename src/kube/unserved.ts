/** Failures of the API server itself, which say nothing of the object of the request and end when it is well again. */
import { UnreadableAnswer } from './answers.ts';
import { ApiError, isConflict } from './client.ts';
import { ConnectionError } from './transport.ts';

/** Whether a failure, or one of its causes, is about the server, its load or our permissions. */
export function isUnserved(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      cause instanceof ConnectionError ||
      cause instanceof UnreadableAnswer ||
      (cause instanceof ApiError && (cause.status >= 500 || [401, 403, 409, 429].includes(cause.status))),
  );
}

/** Whether somebody else wrote first, by all that is known of a failure. */
export const isAboutConflict = (error: unknown): boolean => causesOf(error).some(isConflict);

/** The error, its causes, and what it gathers. */
function causesOf(error: unknown): readonly unknown[] {
  const found: unknown[] = [];
  for (const pending = [error]; pending.length > 0 && found.length < MOST_CAUSES; ) {
    const next = pending.shift();
    found.push(next);
    if (next instanceof AggregateError) pending.push(...next.errors);
    if (next instanceof Error && next.cause !== undefined) pending.push(next.cause);
  }
  return found;
}

const MOST_CAUSES = 100;
