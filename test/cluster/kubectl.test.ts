/** Compares the output of the real kubectl for the same objects on a real API server and on the local one. */
import { readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { customResourceDefinitions } from '#api/schema';
import { type BothServers, type Kubectl, startBothServers } from './harness/kubectl.ts';
import { CHANGES, KINDS, NAMED, SHOWS, TABLED, TABLED_NAMES } from './parity/kubectl.ts';

/** Removes line breaks. */
const words = (text: string): string => text.replace(/\s+/g, ' ');

describe('kubectl on the local API server and on a real one', () => {
  let both: BothServers | undefined;
  let folder: string;
  let real: Kubectl;
  let ours: Kubectl;

  beforeAll(async () => {
    both = await startBothServers();
    ({ folder, real, ours } = both);
    const definitions = join(folder, 'crds.json');
    await writeFile(
      definitions,
      JSON.stringify({ apiVersion: 'v1', kind: 'List', items: customResourceDefinitions() }),
    );
    const objects = join(import.meta.dirname, 'parity/objects.yaml');
    for (const one of [real, ours]) {
      expect(await one('apply', '--server-side', '-f', definitions)).toMatchObject({ code: 0 });
      expect(await one('wait', '--for=condition=Established', 'crd', '--all')).toMatchObject({ code: 0 });
    }
    expect(await ours('apply', '-f', objects)).toEqual(await real('apply', '-f', objects));
    for (const argv of CHANGES) expect(await ours(...argv)).toEqual(await real(...argv));
  }, 180_000);
  afterAll(() => both?.stop(), 60_000);

  it('has an object of every printed kind', async () => {
    const text = await readFile(join(import.meta.dirname, 'parity/objects.yaml'), 'utf8');
    expect(text.match(/^kind: /gm)?.length).toBeGreaterThanOrEqual(KINDS.length + NAMED.length);
    const { text: listed } = await real('get', KINDS.join(','), '-n', 'show', '-o', 'name');
    const found = new Set(listed.split('\n').map((line) => line.split('/')[0]));
    expect(found.size).toBeGreaterThanOrEqual(KINDS.length);
  });

  it.each([
    ['get', '-o', 'wide'],
    ['get', '--show-labels'],
    ['get', '-o', 'yaml'],
    ['get', '-o', 'name'],
    ['describe'],
  ])(
    'prints the same for every kind: %s %s %s',
    async (verb, ...flags) => {
      const of = (...what: readonly string[]): readonly string[] => [verb ?? '', ...what, '-n', 'show', ...flags];
      const isTable = verb === 'get' && !['yaml', 'name'].includes(flags.at(-1) ?? '');
      const [kinds, names] = isTable ? [TABLED, TABLED_NAMES] : [KINDS, NAMED];
      for (const argv of [of(kinds.join(',')), of(...names)]) {
        const [expected, found] = await Promise.all([real(...argv), ours(...argv)]);
        expect(expected.code).toBe(0);
        expect(found).toEqual(expected);
      }
    },
    60_000,
  );

  it.each(SHOWS.map((argv) => [argv.join(' '), argv] as const))(
    '%s',
    async (_, argv) => {
      const [expected, found] = await Promise.all([real(...argv), ours(...argv)]);
      expect(found).toEqual(expected);
    },
    60_000,
  );

  it.each([
    ...['pods', 'deployments', 'nodes', 'poddisruptionbudgets', 'services', 'jobs', 'leases', 'csinodes'],
    ...['nodepools', 'ec2nodeclasses', 'nodeclaims'],
  ])('prints the same fields and types: explain %s', async (kind) => {
    const fields = async (one: Kubectl, ...argv: readonly string[]): Promise<readonly string[]> => {
      const { text } = await one('explain', ...argv);
      // The models do not list values of enumerations separately, and do not name required fields.
      const listed = text
        .slice(text.indexOf('FIELDS:'))
        .replace(/^ *enum: .*$/gm, '')
        .replaceAll('-required-', '');
      return words(listed)
        .trim()
        .split(/ (?=\S+ <[^>]+>)/);
    };
    const all = await fields(real, kind, '--recursive');
    expect(all.length).toBeGreaterThan(20);
    expect(await fields(ours, kind, '--recursive')).toEqual(all);
  }, 60_000);
});
