/** The compiler reports the files that a new AMI family concerns. */
import { spawnSync } from 'node:child_process';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import { ALIAS_FAMILIES } from '#api/objects';

const ROOT = join(import.meta.dirname, '../../..');
const DECLARATION = 'src/api/ec2-selectors.ts';
/** Files with the families of v1beta1, which has no new families. */
const CLOSED: readonly string[] = ['src/cli/convert/nodeclass.ts'];

const names = ALIAS_FAMILIES.join('|');
const NAMES_FAMILY = new RegExp(`'(?:${names})'|^ *(?:${names}):`, 'm');

const naming = readdirSync(join(ROOT, 'src'), { recursive: true, encoding: 'utf8' })
  .filter((name) => name.endsWith('.ts'))
  .map((name) => `src/${name}`)
  .filter((name) => NAMES_FAMILY.test(readFileSync(join(ROOT, name), 'utf8')));

/** Copy of the sources in which one more family is declared. */
const copy = mkdtempSync(join(tmpdir(), 'ami-family-'));
afterAll(() => rmSync(copy, { recursive: true, force: true }));

function reported(): ReadonlySet<string> {
  for (const name of ['src', 'package.json', 'tsconfig.json'])
    cpSync(join(ROOT, name), join(copy, name), { recursive: true });
  symlinkSync(join(ROOT, 'node_modules'), join(copy, 'node_modules'));
  const declaration = join(copy, DECLARATION);
  const text = readFileSync(declaration, 'utf8');
  writeFileSync(declaration, text.replace("  'Custom',\n", "  'Custom',\n  'Flatcar',\n"));
  const { stdout } = spawnSync(process.execPath, [join(ROOT, 'node_modules/typescript/bin/tsc'), '-p', '.'], {
    cwd: copy,
    encoding: 'utf8',
  });
  return new Set([...stdout.matchAll(/^(src\/[^(]+)\(/gm)].map(([, file = '']) => file));
}

describe('a new AMI family', () => {
  it('is reported by the compiler in all files that name families', () => {
    const concerned = naming.filter((file) => file !== DECLARATION && !CLOSED.includes(file));
    expect(concerned.length).toBeGreaterThan(5);
    expect([...reported()].sort()).toEqual(concerned.sort());
  });
});
