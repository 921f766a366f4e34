/** Independent items of a response. An unusable item is left out, and the other items are used. */
import { type Check, problemOf } from './checks.ts';
import { type Call, UnusableAnswer } from './unusable.ts';

/** Called with the unusable items, at most once per page. */
export type ReportUnusable = (error: UnusableAnswer, items: readonly unknown[]) => void;

export function usableItems<T>(call: Call, items: readonly T[], check: Check, report: ReportUnusable): readonly T[] {
  const problems: string[] = [];
  const unusable: T[] = [];
  const usable = items.filter((item, at) => {
    const problem = problemOf(check, item, `item ${at}`);
    if (problem === undefined) return true;
    problems.push(problem);
    unusable.push(item);
    return false;
  });
  const [first] = problems;
  if (first !== undefined)
    report(
      new UnusableAnswer(call, problems.length === 1 ? first : `${first}, and ${problems.length - 1} more`),
      unusable,
    );
  return usable;
}
