/** Items of an answer that do not depend on each other, of which one that cannot be used is left out alone. */
import { type Check, problemOf } from './checks.ts';
import { type Call, UnusableAnswer } from './unusable.ts';

/** Is given what is left out, at most once for each page. */
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
