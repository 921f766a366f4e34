/** Failures of the API server itself. They do not depend on the object of the request and end when the server recovers. */
import { UnreadableAnswer } from './answers.ts';
import { ApiError, isConflict } from './client.ts';
import { ConnectionError } from './transport.ts';

/** Returns true if a failure or one of its causes concerns the server, its load or the operator's permissions. */
export function isUnserved(error: unknown): boolean {
  return causesOf(error).some(
    (cause) =>
      cause instanceof ConnectionError ||
      cause instanceof UnreadableAnswer ||
      (cause instanceof ApiError && (cause.status >= 500 || [401, 403, 409, 429].includes(cause.status))),
  );
}

/** Returns true if any cause of a failure is a write conflict with another client. */
export const isAboutConflict = (error: unknown): boolean => causesOf(error).some(isConflict);

/** Returns the error, its causes, and the members of AggregateErrors. */
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
