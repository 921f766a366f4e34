/** The benchmark of the operator's answers still runs: nothing else would tell when what it is made of changes. */
import { expect, it } from '@jest/globals';
import { operatorLine } from '../../bench/operator.ts';

it('the benchmark of the operator measures answers', async () => {
  const line = await operatorLine({ nodes: 2, pods: 10 });
  expect(line.answerMs).toBeGreaterThan(0);
  expect(line.longestAnswerMs).toBeGreaterThanOrEqual(line.answerMs);
});
