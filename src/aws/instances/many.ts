/** One call for many instances, although a single one can fail the call for all of them. */
import { codeOf, isExpired, isThrottled } from '../errors.ts';

/** Answers by instance id; what EC2 is silent about is left out. */
type Call<T> = (ids: readonly string[]) => Promise<ReadonlyMap<string, T>>;

type Answer<T> = { readonly value: T } | { readonly error: unknown };

/** Whether other ids could fare better: not where EC2 was busy or out of reach, or refuses the caller altogether. */
function isAboutSome(error: unknown): boolean {
  if (isThrottled(error) || isExpired(error) || codeOf(error) === 'AuthFailure') return false;
  return error instanceof Error && '$fault' in error && error.$fault === 'client';
}

const namedIn = (error: unknown): ReadonlySet<string> => new Set(String(error).match(/\bi-[0-9a-f]+\b/g));

async function ask<T>(ids: readonly string[], call: Call<T>, answers: Map<string, Answer<T>>): Promise<void> {
  try {
    for (const [id, value] of await call(ids)) answers.set(id, { value });
  } catch (error) {
    const named = namedIn(error);
    const blamed = ids.length === 1 || !isAboutSome(error) ? ids : ids.filter((id) => named.has(id));
    for (const id of blamed) answers.set(id, { error });
    const rest = ids.filter((id) => !answers.has(id));
    if (rest.length === 0) return;
    if (blamed.length > 0) return ask(rest, call, answers);
    // It does not say which ones: they are searched for by halves.
    const half = rest.length >> 1;
    await Promise.all([ask(rest.slice(0, half), call, answers), ask(rest.slice(half), call, answers)]);
  }
}

/**
 * Answers for each id, in order: what the call says of it, or its error, or undefined where EC2 is silent about it even
 * when requested again.
 */
export async function forMany<T>(
  ids: readonly string[],
  call: Call<T>,
): Promise<readonly PromiseSettledResult<T | undefined>[]> {
  const unique = [...new Set(ids)];
  const answers = new Map<string, Answer<T>>();
  await ask(unique, call, answers);
  const silent = unique.filter((id) => !answers.has(id));
  if (silent.length > 0 && unique.length > 1) await ask(silent, call, answers);
  return ids.map((id): PromiseSettledResult<T | undefined> => {
    const answer = answers.get(id);
    return answer !== undefined && 'error' in answer
      ? { status: 'rejected', reason: answer.error }
      : { status: 'fulfilled', value: answer?.value };
  });
}
