/**
 * Jest sequencer that starts the test files with the longest waits first. Jest does so only if it has run them before on the
 * same machine.
 */
import { createRequire } from 'node:module';

const { default: Sequencer } = createRequire(import.meta.url)(
  '@jest/test-sequencer',
) as typeof import('@jest/test-sequencer');

/** Longest first: files of the suite on a real control plane, and then other files of the operator suite. */
const LONGEST = [
  'operator/steering.test.ts',
  'cluster/stale.test.ts',
  'cluster/scheduling.test.ts',
  'cluster/faults.test.ts',
  'operator/process/memory.test.ts',
  'operator/replay-fidelity.test.ts',
  'operator/leadership.test.ts',
  'operator/skew.test.ts',
];

type Tests = Parameters<InstanceType<typeof Sequencer>['sort']>[0];

const rank = ({ path }: Tests[number]): number => {
  const found = LONGEST.findIndex((file) => path.endsWith(file));
  return found === -1 ? LONGEST.length : found;
};

class LongestFirst extends Sequencer {
  override async sort(tests: Tests): Promise<Tests> {
    return (await super.sort(tests)).toSorted((a, b) => rank(a) - rank(b));
  }
}

export { LongestFirst as default, LongestFirst as 'module.exports' };
