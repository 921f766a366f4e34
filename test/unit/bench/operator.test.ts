/** The benchmark of the operator's responses must run. No other test fails if an API that it uses changes. */
import { expect, it } from '@jest/globals';
import { operatorLine } from '../../../bench/operator.ts';

it('measures responses in the benchmark of the operator', async () => {
  const line = await operatorLine({ nodes: 2, pods: 10 });
  expect(line.answerMs).toBeGreaterThan(0);
  expect(line.longestAnswerMs).toBeGreaterThanOrEqual(line.answerMs);
});
