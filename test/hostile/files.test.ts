/** Invalid files for the command line: each must be rejected with its name, in bounded time. */
import { spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, describe, expect, it } from '@jest/globals';
import { readManifests } from '#cli/testing';
import { withinCpuTime } from '../support/cpu-time.ts';

const CLI = fileURLToPath(new URL('../../bin/karpenter.js', import.meta.url));
/** Limit for a machine that is three times slower, and busy. */
const LONGEST_MS = 60_000;

const folder = mkdtempSync(join(tmpdir(), 'hostile-files-'));
afterAll(() => rmSync(folder, { recursive: true, force: true }));

const POD = 'apiVersion: v1\nkind: Pod\nmetadata: {name: x}\n';
const multiplied = (levels: string): string =>
  [...levels]
    .map((name, i) => {
      const items = i === 0 ? 'x' : `*${levels[i - 1]}`;
      return `${name}: &${name} [${Array.from({ length: 9 }, () => items).join(',')}]\n`;
    })
    .join('');
const nested = (depth: number, open = '[', close = ']'): string => open.repeat(depth) + close.repeat(depth);

const REFUSED: Readonly<Record<string, readonly [content: string | Buffer, message: RegExp]>> = {
  'aliases that multiply.yaml': [multiplied('abcdefghi'), /Excessive alias count/],
  'an anchor that contains itself.yaml': [
    'apiVersion: v1\nkind: Pod\nmetadata: &m\n  name: x\n  labels: *m\n',
    /contains itself/,
  ],
  'an unknown anchor.yaml': [`${POD}spec: *nobody\n`, /Unresolved alias/],
  'nested and never closed.yaml': ['['.repeat(100_000), /not valid YAML/],
  'nested in flow.yaml': [`${POD}spec: ${nested(2_000)}`, /not valid YAML|deep/],
  'nested in blocks.yaml': [
    Array.from({ length: 1_500 }, (_, i) => `${' '.repeat(i)}a:\n`).join(''),
    /not valid YAML|deep/,
  ],
  'nested.json': [
    `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"x"},"spec":${nested(100_000)}}`,
    /200 levels deep/,
  ],
  'cut off.json': ['{"apiVersion":"v1","kind":"Pod"', /not valid JSON/],
  'a text without end.json': [`{"a":"${'y'.repeat(20_000_000)}`, /not valid JSON/],
  'quotes without end.yaml': [`a: "${'x\n'.repeat(100_000)}`, /Missing closing/],
  'a list without end.yaml': [`[${'a,'.repeat(20_000)}`, /must end with a \]/],
  'the same key twice.yaml': ['apiVersion: v1\nkind: Pod\nkind: Node\nmetadata: {name: x}\n', /keys must be unique/],
  'tabs.yaml': ['apiVersion: v1\nmetadata:\n\tname: x\n', /Tabs are not allowed/],
  'UTF-16.yaml': [Buffer.from(`\ufeff${POD}`, 'utf16le'), /is UTF-16; save it as UTF-8/],
  'Latin-1.yaml': [Buffer.from(`# gr\u00fc\u00dfe\n${POD}`, 'latin1'), /is not UTF-8/],
  'half a character.yaml': [Buffer.from([0x61, 0x3a, 0x20, 0xf0, 0x9f]), /is not UTF-8/],
  'NUL.yaml': [`${POD}\0`, /contains NUL bytes/],
  'a program.yaml': [Buffer.from([0x7f, 0x45, 0x4c, 0x46, 2, 1, 1, 0, 0, 0]), /contains NUL bytes/],
  'text.yaml': ['hello', /expected a Kubernetes object/],
  'a number.json': ['42', /expected a Kubernetes object/],
  'a list.yaml': ['- a\n- b\n', /expected a Kubernetes object/],
  'no kind.yaml': ['apiVersion: v1\n', /kind is missing/],
  'a kind that is a list.yaml': ['apiVersion: v1\nkind: [Pod]\n', /kind is missing/],
  'metadata that is a list.yaml': ['apiVersion: v1\nkind: Pod\nmetadata: []\n', /metadata.name is missing/],
  'a name that is a number.yaml': ['apiVersion: v1\nkind: Pod\nmetadata: {name: 7}\n', /metadata.name is missing/],
  'a List of nothing.yaml': ['apiVersion: v1\nkind: List\nitems:\n- {}\n', /items\[0\]: kind is missing/],
  'binary names.yaml': ['apiVersion: v1\nkind: Pod\nmetadata: {name: !!binary aGk=}\n', /metadata.name is missing/],
};

describe('a file of the command line', () => {
  it.each(Object.entries(REFUSED))('is rejected: %s', (name, [content, message]) => {
    const file = join(folder, name);
    writeFileSync(file, content);
    const read = (): unknown => withinCpuTime(LONGEST_MS, () => readManifests([file]));
    expect(read).toThrow(message);
    expect(read).toThrow(file);
  });

  it.each([
    ['nothing', ''],
    ['ten million blanks', ' '.repeat(10_000_000)],
    ['20,000 empty documents', '---\n'.repeat(20_000)],
  ])('contains no objects: %s', (name, content) => {
    const file = join(folder, `${name}.yaml`);
    writeFileSync(file, content);
    expect(readManifests([file])).toEqual([]);
  });

  it.each([
    ['/dev/zero', /is a device/],
    ['/dev/full', /is a device/],
    ['/nowhere/at all.yaml', /no such file/],
  ])('is rejected by its kind: %s', (file, message) => {
    expect(() => readManifests([file])).toThrow(message);
  });

  it('is rejected instead of a folder, as a folder is instead of a file', () => {
    const inner = join(folder, 'in', 'folder.yaml');
    mkdirSync(inner, { recursive: true });
    expect(() => readManifests([join(folder, 'in')])).toThrow(`${inner}: is a folder`);
    expect(() => readManifests([inner])).toThrow('contains no .yaml, .yml or .json file');
  });
});

describe('the command line', () => {
  it.each([
    'aliases that multiply.yaml',
    'nested.json',
    'UTF-16.yaml',
  ])('exits with code 1 and one line for %s', (name) => {
    const [content] = REFUSED[name] ?? [''];
    const file = join(folder, name);
    writeFileSync(file, content);
    const { status, stderr } = spawnSync(process.execPath, [CLI, 'simulate', '-f', file], {
      encoding: 'utf8',
      timeout: LONGEST_MS,
    });
    expect(stderr).toMatch(/^karpenter simulate: [^\n]*\n$/);
    expect(stderr).toContain(file);
    expect(status).toBe(1);
  });
});
