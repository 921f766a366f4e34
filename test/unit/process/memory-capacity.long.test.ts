import { execFileSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { type ClusterSize, heapBytes } from '../../../src/process/memory-capacity.ts';

const SCRIPT = join(import.meta.dirname, '../../support/heap-of-cluster.ts');

/** Returns the expected and the measured heap of the caches of a cluster. */
function heapOf({
  nodes,
  bound,
  pending,
}: {
  readonly nodes: number;
  readonly bound: number;
  readonly pending: number;
}) {
  const size: ClusterSize = { nodes, pods: bound + pending, pending };
  const expected = heapBytes(size) - heapBytes({ nodes: 0, pods: 0 });
  const argv = ['--expose-gc', SCRIPT, ...[nodes, bound, pending].map(String)];
  const env = { PATH: process.env.PATH };
  return { expected, measured: Number(execFileSync(process.execPath, argv, { encoding: 'utf8', env })) };
}

describe('the expected memory of a cluster', () => {
  it('is at least the heap of its caches and at most twice as much, with ten pods for each node', () => {
    const { expected, measured } = heapOf({ nodes: 500, bound: 5_000, pending: 0 });
    expect(measured).toBeLessThanOrEqual(expected);
    expect(expected).toBeLessThanOrEqual(2 * measured);
  });

  // the remainder is for work in progress: events, launches, plans and series of metrics
  it.each([
    { of: 'nodes with few pods', size: { nodes: 1_500, bound: 1_500, pending: 0 }, most: 3.5 },
    { of: 'pending pods', size: { nodes: 0, bound: 0, pending: 5_000 }, most: 8 },
  ])('is at least the heap of the caches of $of and at most $most times as much', ({ size, most }) => {
    const { expected, measured } = heapOf(size);
    expect(measured).toBeLessThanOrEqual(expected);
    expect(expected).toBeLessThanOrEqual(most * measured);
  });
});
