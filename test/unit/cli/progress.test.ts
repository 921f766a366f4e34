import { spawnSync } from 'node:child_process';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';

const PROGRESS = join(import.meta.dirname, '../../../src/cli/progress.ts');
/** A verb that works without a pause, as the engine does. */
const working = (ms: number): string =>
  `import { startProgress, endProgress } from '${PROGRESS}';
   startProgress('karpenter simulate');
   const end = Date.now() + ${ms};
   while (Date.now() < end);
   process.stdout.write('answer\\n');
   endProgress();`;

/** In a terminal of its own, which shows both outputs. */
function inTerminal(ms: number): string {
  const program = `'${process.execPath}' --input-type=module -e "${working(ms).replaceAll('\n', ' ')}"`;
  return spawnSync('script', ['-qec', program, '/dev/null'], { encoding: 'utf8' }).stdout;
}
/** Takes back what the line says. */
const CLEAR = '\r\u001b[K';
const hasTerminals = spawnSync('script', ['--version']).status === 0;

describe('progress', () => {
  (hasTerminals ? it : it.skip)('shows in a terminal after two seconds, and is gone before the answer', () => {
    const shown = inTerminal(3_500);
    expect(shown.startsWith(`${CLEAR}karpenter simulate: working, 2 s${CLEAR}karpenter simulate: working, 3 s`)).toBe(
      true,
    );
    expect(shown.endsWith(`${CLEAR}answer\r\n`)).toBe(true);
  });

  (hasTerminals ? it : it.skip)('does not show for a verb that is quick', () => {
    expect(inTerminal(100)).toBe('answer\r\n');
  });

  it('makes no noise in pipes', () => {
    const { stdout, stderr } = spawnSync(process.execPath, ['--input-type=module', '-e', working(2_500)], {
      encoding: 'utf8',
    });
    expect({ stdout, stderr }).toEqual({ stdout: 'answer\n', stderr: '' });
  });
});
