/** Input, output and exit code of `karpenter convert`. */
import { mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeEach, describe, expect, it } from '@jest/globals';
import { runConvert } from './run-convert.ts';

const ALPHA = readFileSync(join(import.meta.dirname, 'fixtures/flux/alpha.yaml'), 'utf8');
const OTHER = 'apiVersion: v1\nkind: Namespace\nmetadata: {name:  x}\n';
const folder = mkdtempSync(join(tmpdir(), 'karpenter-convert-'));
const path = (name: string): string => join(folder, name);
/** Removes the name of the folder, which differs from run to run. */
const shown = (text: string): string => text.replaceAll(`${folder}/`, '');
afterAll(() => rmSync(folder, { recursive: true }));
beforeEach(() => {
  rmSync(folder, { recursive: true });
  mkdirSync(path('deep'), { recursive: true });
  writeFileSync(path('alpha.yaml'), ALPHA, { mode: 0o600 });
  writeFileSync(path('deep/other.yml'), OTHER);
});

describe('karpenter convert', () => {
  it('prints the converted files, and notes on standard error', async () => {
    const { output, errors, code } = await runConvert('-f', path('alpha.yaml'));
    expect(output).toMatchSnapshot();
    expect(shown(errors)).toMatchSnapshot();
    expect(code).toBe(0);
  });

  it('reads folders in folders with -R, and writes one file with -o', async () => {
    await runConvert('-R', '-f', folder, '-o', path('out.yaml'), '--role', 'r');
    expect(readFileSync(path('out.yaml'), 'utf8')).toContain(`---\n${OTHER}`);
    expect(readFileSync(path('out.yaml'), 'utf8')).toContain('role: r');
  });

  it('writes only changed files in place, and keeps their mode', async () => {
    const { output } = await runConvert('-R', '-f', folder, '--in-place');
    expect(shown(output)).toMatch(/^alpha\.yaml: \d+ lines added, \d+ removed\n$/);
    expect(readFileSync(path('alpha.yaml'), 'utf8')).toContain('karpenter.sh/v1\n');
    expect(statSync(path('alpha.yaml')).mode & 0o777).toBe(0o600);
    expect(readFileSync(path('deep/other.yml'), 'utf8')).toBe(OTHER);
    expect(readdirSync(folder)).toEqual(['alpha.yaml', 'deep']);
    expect((await runConvert('-R', '-f', folder, '--in-place')).output).toBe('');
  });

  it('prints the difference with --diff, and writes no file', async () => {
    const { output } = await runConvert('-f', path('alpha.yaml'), '--diff');
    expect(shown(output)).toMatchSnapshot();
    expect(readFileSync(path('alpha.yaml'), 'utf8')).toBe(ALPHA);
  });

  it('ends with 1 if a file is invalid, and converts the other files', async () => {
    writeFileSync(path('broken.yaml'), 'a: [\n');
    const { output, errors, code } = await runConvert('-f', folder);
    expect(code).toBe(1);
    expect(output).toContain('kind: NodePool');
    expect(shown(errors)).toMatch(/karpenter convert: broken\.yaml, line \d: not valid YAML/);
  });
});
