/** Returns the rejection reasons of settled promises. */
export const rejections = (results: readonly PromiseSettledResult<unknown>[]): readonly unknown[] =>
  results.flatMap((result) => (result.status === 'rejected' ? [result.reason] : []));
