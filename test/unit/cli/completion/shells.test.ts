import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { wholeProgram } from '../../../../src/cli/command-line.ts';
import { bashScript } from '../../../../src/cli/completion/bash.ts';
import { fishScript } from '../../../../src/cli/completion/fish.ts';
import { valueFlags } from '../../../../src/cli/completion/words.ts';
import { zshScript } from '../../../../src/cli/completion/zsh.ts';
import { describeCommand as described, everyCommand } from '../../../../src/cli/describe.ts';

const root = described(await wholeProgram());
const isThere = (shell: string): boolean => spawnSync(shell, ['--version']).status === 0;

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'completion-'));
  for (const name of ['dump.yaml', 'pool one.yaml', 'other.json']) writeFileSync(join(folder, name), '');
  writeFileSync(join(folder, '.bash'), bashScript(root));
  writeFileSync(join(folder, '.zsh'), zshScript(root));
  writeFileSync(join(folder, '.fish'), fishScript(root));
});
afterAll(() => rmSync(folder, { recursive: true }));

/** Returns the completions of bash for the last word. As in bash, an equals sign is a separate word. */
function offered(...words: readonly string[]): readonly string[] {
  const line = ['karpenter', ...words].map((word) => `'${word}'`).join(' ');
  const script = `source .bash; COMP_WORDS=(${line}); COMP_CWORD=${words.length}; _karpenter; printf '%s\\n' "\${COMPREPLY[@]}"`;
  const { stdout, stderr } = spawnSync('bash', ['--norc', '-c', script], { cwd: folder, encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.split('\n').filter((word) => word !== '');
}

describe('completion of bash', () => {
  it.each([
    [['bud'], []],
    [['explain', 'bud'], ['budgets']],
    [['report', ''], ['moves']],
    [
      ['explain', ''],
      ['pod', 'nodeclaim', 'node', 'instance-type', 'blockers', 'drain', 'budgets'],
    ],
    [['explain', 'budgets', '--ne'], ['--next']],
    [
      ['explain', 'budgets', '-o', ''],
      ['table', 'json', 'yaml'],
    ],
    [['explain', 'budgets', '-o', 'j'], ['json']],
    [['explain', 'budgets', '--output', '=', 'y'], ['yaml']],
    [
      ['explain', 'budgets', '--output', '='],
      ['table', 'json', 'yaml'],
    ],
    [['explain', 'nodeclaim', '--serv'], ['--server']],
    [['explain', '-o', 'json', 'node', '--serv'], ['--server']],
    [['explain', 'budgets', '-f', 'du'], ['dump.yaml']],
    [['explain', 'budgets', '-f', 'pool'], ['pool one.yaml']],
    [['explain', 'budgets', '--next', ''], []],
    [['explain', 'budgets', '-f', 'explain', '--ti'], ['--time-zone']],
    [
      ['completion', ''],
      ['bash', 'zsh', 'fish'],
    ],
    [
      ['simulate', '--packing', ''],
      ['cheapest', 'compatible'],
    ],
    [['help', 'ex'], ['explain']],
  ])('completes %j to %j', (words, offers) => {
    expect(offered(...words)).toEqual(offers);
  });

  it('offers every verb and every option of every command', () => {
    for (const { path, commands, options } of everyCommand(root)) {
      const words = path.slice(1);
      const nested = commands.map((each) => each.path.at(-1));
      if (nested.length > 0) expect(offered(...words, '')).toEqual(nested);
      const longs = options.map(({ long }) => long);
      expect(offered(...words, '--')).toEqual([...longs, '--help']);
    }
  });
});

describe('a script', () => {
  it.each([
    ['bash', ['-n', '.bash']],
    ['zsh', ['-n', '.zsh']],
    ['fish', ['--no-execute', '.fish']],
  ])('is valid in %s, where it is installed', (shell, args) => {
    if (shell !== 'bash' && !isThere(shell)) return;
    const { status, stderr } = spawnSync(shell, args, { cwd: folder, encoding: 'utf8' });
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
  });

  it.each([
    ['zsh', zshScript(root)],
    ['fish', fishScript(root)],
  ])('contains in %s every option', (_, script) => {
    const options = everyCommand(root).flatMap((each) => each.options);
    const missing = options.filter(({ long }) => !script.includes(long.slice(2)));
    expect(options.length).toBeGreaterThan(20);
    expect(missing).toEqual([]);
    for (const flag of valueFlags(root)) expect(script).toContain(flag);
  });
});
