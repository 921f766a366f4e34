/** The core names no concept of a single provider (docs/decisions/0125-provider-contract.md). */
import { readFileSync } from 'node:fs';
import { relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { SRC, sources } from './import-graph.ts';

/** Areas of the provider, of the local AWS and of the tools for EKS. The kinds of the product are declared in `api`. */
const OF_PROVIDER = /^(?:aws|local|cli|replay|api)\//;
const NAMES = /EC2_?NODE_?CLASS|savings ?plan|cpu ?credit|\bEBS\b/i;

/** Files that still name such concepts. A file may only leave this list. */
const LEFT: readonly string[] = [
  'engine/disruption/methods/consolidation.ts',
  'engine/instance-type-report.ts',
  'observe/metrics/nodepools.ts',
  'observe/remedies.ts',
];

describe('a core file', () => {
  it('names no EC2NodeClass, EBS volume, Savings Plan or CPU credit', () => {
    const core = sources.filter((file) => !OF_PROVIDER.test(relative(SRC, file)));
    expect(core.length).toBeGreaterThan(500);
    const naming = core.filter((file) => NAMES.test(readFileSync(file, 'utf8')));
    expect(naming.map((file) => relative(SRC, file)).sort()).toEqual([...LEFT].sort());
  });
});
