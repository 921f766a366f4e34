/** `bin/karpenter.js` with an installed npm package `node` that is too old. */
import { spawn } from 'node:child_process';
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';

const BIN = join(import.meta.dirname, '../../../bin/karpenter.js');
/** Limit on process starts. A chain of processes without end reaches it within seconds. */
const MOST = 5;

describe('karpenter on an old Node.js', () => {
  let folder: string;
  let starts: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'old-node-'));
    starts = join(folder, 'starts');
    writeFileSync(starts, '');
    mkdirSync(join(folder, 'bin'));
    mkdirSync(join(folder, 'node_modules/node/bin'), { recursive: true });
    writeFileSync(join(folder, 'package.json'), '{"type":"module"}');
    copyFileSync(BIN, join(folder, 'bin/karpenter.js'));
    writeFileSync(
      join(folder, 'old.mjs'),
      "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });",
    );
    // counts its starts, and refuses after some, so that a chain of processes ends
    const fake = `#!/bin/sh\necho start >> '${starts}'\n[ "$(wc -l < '${starts}')" -gt ${MOST} ] && exit 99\nexec '${process.execPath}' --import '${join(folder, 'old.mjs')}' "$@"\n`;
    writeFileSync(join(folder, 'node_modules/node/bin/node'), fake);
    chmodSync(join(folder, 'node_modules/node/bin/node'), 0o755);
  });
  afterEach(() => rmSync(folder, { recursive: true, force: true }));

  const besideNode = (version: string): void =>
    writeFileSync(join(folder, 'node_modules/node/package.json'), JSON.stringify({ name: 'node', version }));

  async function run(): Promise<{ readonly code: number | null; readonly stderr: string; readonly starts: number }> {
    const { NODE_OPTIONS: _, ...env } = process.env;
    const child = spawn(
      process.execPath,
      ['--import', join(folder, 'old.mjs'), join(folder, 'bin/karpenter.js'), '--version'],
      { env, stdio: ['ignore', 'ignore', 'pipe'] },
    );
    let stderr = '';
    child.stderr.setEncoding('utf8').on('data', (chunk: string) => {
      stderr += chunk;
    });
    const code = await new Promise<number | null>((resolve) => child.once('close', resolve));
    return { code, stderr, starts: readFileSync(starts, 'utf8').split('\n').length - 1 };
  }

  it('starts no other process if the installed package is too old', async () => {
    besideNode('20.2.0');
    expect(await run()).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^karpenter needs Node\.js 22\.19 or newer, this is 20\.1\.0, and .*\/node_modules\/node\/bin\/node is 20\.2\.0: run "npm install node@24" .*\n$/,
      ),
      starts: 0,
    });
  });

  it('starts one process if the installed binary is older than its package', async () => {
    besideNode('24.0.0');
    expect(await run()).toEqual({
      code: 1,
      stderr: expect.stringMatching(
        /^karpenter needs Node\.js 22\.19 or newer, \/.*\/node_modules\/node\/bin\/node is 20\.1\.0: run "npm install node@24" .*\n$/,
      ),
      starts: 1,
    });
  });
});
