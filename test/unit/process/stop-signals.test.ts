import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { describe, expect, it } from '@jest/globals';

const SCRIPT = `
import { stopOnSignals } from '${new URL('../../../src/process/stop-signals.ts', import.meta.url)}';
setInterval(() => {}, 1_000);
stopOnSignals().addEventListener('abort', ({ target }) => console.log(target.reason.message));
console.log('ready');
`;

describe('a process that handles signals', () => {
  it.each([
    ['SIGTERM', 143],
    ['SIGINT', 130],
  ] as const)('aborts its signal on the first %s, and exits on the second', async (signal, code) => {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(process.execPath, ['--input-type=module', '--eval', SCRIPT], {
      env,
      stdio: ['ignore', 'pipe', 'inherit'],
    });
    const texts: string[] = [];
    child.stdout.setEncoding('utf8').on('data', (text: string) => {
      texts.push(text.trim());
      child.kill(signal);
    });
    expect(await once(child, 'exit')).toEqual([code, null]);
    expect(texts).toEqual(['ready', `the process received ${signal}`]);
  });
});
