import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { COMPLETION_NAME } from '../../../../scripts/release/archives.ts';
import { wholeProgram } from '../../../../src/cli/command-line.ts';
import { bashScript } from '../../../../src/cli/completion/bash.ts';
import { fishScript } from '../../../../src/cli/completion/fish.ts';
import { KUBECTL_COMPLETION, kubectlScript } from '../../../../src/cli/completion/kubectl.ts';
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
  writeFileSync(join(folder, KUBECTL_COMPLETION), kubectlScript(root), { mode: 0o755 });
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
      ['pod', 'nodeclaim', 'provisioningrequest', 'node', 'instance-type', 'blockers', 'drain', 'budgets'],
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
      ['bash', 'zsh', 'fish', 'kubectl'],
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

/** Returns the lines that kubectl reads for the last word, and the directive. */
function linesForKubectl(...words: readonly string[]): readonly string[] {
  const { stdout, stderr } = spawnSync(join(folder, KUBECTL_COMPLETION), words, { encoding: 'utf8' });
  expect(stderr).toBe('');
  return stdout.trimEnd().split('\n');
}

describe('completion of kubectl', () => {
  it.each([
    [['bud'], [':4']],
    [
      ['explain', 'bud'],
      ['budgets', ':4'],
    ],
    [
      ['explain', ''],
      ['pod', 'nodeclaim', 'provisioningrequest', 'node', 'instance-type', 'blockers', 'drain', 'budgets', ':4'],
    ],
    [
      ['explain', 'budgets', '-o', ''],
      ['table', 'json', 'yaml', ':4'],
    ],
    [
      ['explain', 'budgets', '--output=y'],
      ['yaml', ':4'],
    ],
    [['explain', 'budgets', '-f', 'du'], [':0']],
    [['explain', 'budgets', '--next', ''], [':4']],
    [
      ['explain', 'budgets', '-f', 'explain', '--ti'],
      ['--time-zone', ':4'],
    ],
    [[], ['explain', ':4']],
  ])('returns for %j the words %j', (words, offers) => {
    const found = linesForKubectl(...words).map((line) => line.split('\t')[0]);
    if (words.length > 0) expect(found).toEqual(offers);
    else expect(found).toEqual(expect.arrayContaining(offers));
  });

  it('offers every verb and every option of every command, with descriptions', () => {
    for (const { path, commands, options } of everyCommand(root)) {
      const words = path.slice(1);
      const described = [
        ...linesForKubectl(...words, '--'),
        ...(commands.length > 0 ? linesForKubectl(...words, '') : []),
      ];
      const found = described.filter((line) => !line.startsWith(':')).map((line) => line.split('\t'));
      expect(found.map(([word]) => word)).toEqual([
        ...options.map(({ long }) => long),
        '--help',
        ...commands.map((each) => each.path.at(-1)),
      ]);
      expect(found.filter(([, description = '']) => description === '')).toEqual([]);
    }
  });

  it('has the name of the file in the archives', () => {
    expect(COMPLETION_NAME).toBe(KUBECTL_COMPLETION);
  });
});

describe('a script', () => {
  it.each([
    ['bash', ['-n', '.bash']],
    ['zsh', ['-n', '.zsh']],
    ['fish', ['--no-execute', '.fish']],
    ['sh', ['-n', KUBECTL_COMPLETION]],
  ])('is valid in %s, where it is installed', (shell, args) => {
    if (!['bash', 'sh'].includes(shell) && !isThere(shell)) return;
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
