/**
 * Control characters in names, messages, trace headers and arguments must not reach the terminal in any command and
 * format.
 */
import { spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { healthyNodeClass, healthyPool, smallPod } from './healthy.ts';

const CLI = fileURLToPath(new URL('../../bin/karpenter.js', import.meta.url));

/** Clears the screen with C0 and C1 codes, sets the title, erases the line, and reverses the text direction. */
const EVIL = 'evil\u001b[2J\u009b2J\u001b]0;title\u0007\r\u001b[2K\u007f\u202edren';
/** Allowed output: printable characters, tabs and line breaks. */
const HARMLESS = /^[\t\n\u0020-\u007e\u00a0-\u2029\u202f-\u2065\u206a-\uffff]*$/;

let folder: string;
const path = (name: string): string => join(folder, name);

beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'terminal-'));
  const pool = healthyPool();
  const condition = { type: 'Ready', status: 'False', reason: EVIL, message: EVIL, lastTransitionTime: EVIL };
  const items = [
    healthyNodeClass(),
    { ...healthyNodeClass(), metadata: { name: EVIL }, status: { conditions: [condition] } },
    pool,
    { ...pool, metadata: { name: EVIL, labels: { [EVIL]: EVIL } }, status: { conditions: [condition] } },
    smallPod(EVIL, {}),
    { ...smallPod('other', {}), spec: { ...smallPod('other', {}).spec, nodeSelector: { [EVIL]: EVIL } } },
  ];
  writeFileSync(path('objects.json'), JSON.stringify({ apiVersion: 'v1', kind: 'List', items }));
  writeFileSync(path('broken.yaml'), `apiVersion: v1\nkind: "${EVIL.replaceAll('\u001b', '\\e')}"\nmetadata: [\n`);
  const header = { trace: 'karpenter/v1', name: EVIL, start: '2026-03-02T00:00:00Z', seconds: 60, source: EVIL };
  const events = [healthyNodeClass(), pool].map((object) => JSON.stringify({ at: 0, apply: object }));
  writeFileSync(path('evil.jsonl'), `${[JSON.stringify(header), ...events].join('\n')}\n`);
  writeFileSync(path('evil-start.jsonl'), `${JSON.stringify({ ...header, start: EVIL })}\n`);
});
afterAll(() => rmSync(folder, { recursive: true }));

const run = (args: readonly string[]) => {
  const { stdout, stderr } = spawnSync(process.execPath, [CLI, ...args], { cwd: folder, encoding: 'utf8' });
  return { stdout, stderr };
};

describe('the command line', () => {
  it.each([
    { verb: 'simulate', args: ['simulate', '-f', 'objects.json', '--explain'] },
    { verb: 'explain pod', args: ['explain', 'pod', '-f', 'objects.json'] },
    { verb: 'explain node', args: ['explain', 'node', '-f', 'objects.json'] },
    { verb: 'budgets', args: ['budgets', '-f', 'objects.json'] },
    { verb: 'blockers', args: ['blockers', '-f', 'objects.json'] },
    { verb: 'a file that cannot be read', args: ['simulate', '-f', 'broken.yaml'] },
    { verb: 'a file that does not exist', args: ['simulate', '-f', EVIL] },
    { verb: 'convert', args: ['convert', '-f', 'objects.json'] },
    { verb: 'replay', args: ['replay', '--trace', 'evil.jsonl'] },
    { verb: 'trace check', args: ['trace', 'check', 'evil.jsonl'] },
    { verb: 'a trace that cannot be read', args: ['trace', 'check', 'evil-start.jsonl'] },
    { verb: 'an unknown verb', args: [EVIL] },
    { verb: 'an unknown option', args: ['simulate', `--${EVIL}`] },
    { verb: 'an unknown name', args: ['explain', 'pod', EVIL, '-f', 'objects.json'] },
  ])('prints no control characters with $verb', ({ args }) => {
    const { stdout, stderr } = run(args);
    expect(stdout).toMatch(HARMLESS);
    expect(stderr).toMatch(HARMLESS);
    expect(stdout + stderr).not.toBe('');
  });

  it.each(['json', 'yaml'])('prints no control characters with simulate as %s, and preserves names', (format) => {
    const { stdout } = run(['simulate', '-f', 'objects.json', '-o', format]);
    expect(stdout).toMatch(HARMLESS);
    expect(JSON.stringify(parse(stdout))).toContain(JSON.stringify(`default/${EVIL}`).slice(1, -1));
  });
});
