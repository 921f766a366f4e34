import { describe, expect, it } from '@jest/globals';
import { NODE_HOURLY_FEE_ANNOTATION } from '../../../src/api/labels.ts';
import { nodeHourlyFee, nodeHourlyFeeError } from '../../../src/api/node-hourly-fee.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { nodePool } from '../engine/build.ts';

const withFee = (fee: string): NodePool => {
  const pool = nodePool('default');
  return { ...pool, metadata: { ...pool.metadata, annotations: { [NODE_HOURLY_FEE_ANNOTATION]: fee } } };
};

describe('the hourly fee of a node', () => {
  it('is the setting unless the NodePool has an annotation', () => {
    expect(nodeHourlyFee(nodePool('default'), 0.02)).toBe(0.02);
    expect(nodeHourlyFee(withFee('0.05'), 0.02)).toBe(0.05);
    expect(nodeHourlyFee(withFee('0'), 0.02)).toBe(0);
  });

  it.each([
    '',
    'free',
    '-1',
    '1e3',
    '101',
    '0x10',
    ' 1',
    'NaN',
    'Infinity',
    '1'.repeat(100_000),
  ])('is the setting and reports an error if the annotation is "%.9s"', (text) => {
    const problems: string[] = [];
    expect(nodeHourlyFee(withFee(text), 0.02, (problem) => problems.push(problem))).toBe(0.02);
    expect(problems).toHaveLength(1);
    expect(problems[0]).toContain('karpenter.sh/node-hourly-fee');
    expect(problems[0]).toContain('USD per hour from 0 to 100');
    expect(problems[0]?.length).toBeLessThan(200);
  });

  it('must be between 0 and 100', () => {
    expect(nodeHourlyFeeError(0)).toBeUndefined();
    expect(nodeHourlyFeeError(100)).toBeUndefined();
    for (const wrong of [-0.01, 100.01, Number.NaN, Number.POSITIVE_INFINITY])
      expect(nodeHourlyFeeError(wrong)).toBeDefined();
  });
});
