import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const PROGRESS = join(import.meta.dirname, '../../../src/cli/progress.ts');
/** A command that computes without a pause, like the engine. */
const working = (ms: number): string =>
  `import { startProgress, endProgress } from '${PROGRESS}';
   startProgress('karpenter simulate');
   const end = Date.now() + ${ms};
   while (Date.now() < end);
   process.stdout.write('answer\\n');
   endProgress();`;

/** Runs it in a terminal that shows both outputs. */
function inTerminal(ms: number): string {
  const program = `'${process.execPath}' --input-type=module -e "${working(ms).replaceAll('\n', ' ')}"`;
  return spawnSync('script', ['-qec', program, '/dev/null'], { encoding: 'utf8' }).stdout;
}
/** Clears the line. */
const CLEAR = '\r\u001b[K';
const hasTerminals = spawnSync('script', ['--version']).status === 0;

describe('progress', () => {
  (hasTerminals ? it : it.skip)('shows in a terminal after two seconds, and is gone before the answer', () => {
    // The thread that prints the line may start late on a busy machine.
    const [before, ...lines] = inTerminal(6_000).split(CLEAR);
    const answer = lines.pop();
    expect([before, answer]).toEqual(['', 'answer\r\n']);
    expect(lines[0]).toMatch(/^karpenter simulate: running, ([2-9]|\d\d+) s$/);
  });

  (hasTerminals ? it : it.skip)('does not show for a verb that is quick', () => {
    expect(inTerminal(100)).toBe('answer\r\n');
  });

  it('writes nothing to pipes', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', working(2_500)], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'answer\n', stderr: '' });
  });
});
