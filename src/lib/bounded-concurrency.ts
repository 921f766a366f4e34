import { messageOf } from './error-message.ts';

/**
 * Processes all items, with at most `limit` of them in progress. Processes every item even if some of them fail.
 * @throws the error if one item fails, AggregateError if several items fail
 */
export async function withBoundedConcurrency<T>(
  items: readonly T[],
  limit: number,
  work: (item: T) => Promise<void>,
): Promise<void> {
  const errors: unknown[] = [];
  const queue = items.values();
  const worker = async (): Promise<void> => {
    for (const item of queue) {
      try {
        await work(item);
      } catch (error) {
        errors.push(error);
      }
    }
  };
  await Promise.all(Array.from({ length: Math.min(limit, items.length) }, worker));
  if (errors.length === 1) throw errors[0];
  if (errors.length > 1) {
    throw new AggregateError(errors, errors.map((error) => messageOf(error)).join('; '));
  }
}
