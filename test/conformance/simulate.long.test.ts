/**
 * `karpenter simulate` on the cases. Each result must be valid and must not cost more than Karpenter 1.14.1's. It must
 * leave the same pods pending, for the same reasons.
 */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { simulate } from '#cli/testing';
import { problemsOf, type ScenarioObject, type TypeEntry } from './validity.ts';

const CASES = join(import.meta.dirname, 'cases');
/** Allowed relative difference of prices, because ties are broken arbitrarily. */
const PRICE_SLACK = 1.005;

interface Expected {
  readonly unschedulable: Readonly<Record<string, string>>;
  readonly totalPrice: number;
}

const names = readdirSync(CASES).filter((name) => /^\d/.test(name));
const read = (name: string, file: string): string => readFileSync(join(CASES, name, file), 'utf8');

/**
 * Replaces the node class label of the reference's test provider by the EC2NodeClass label. Only our text names
 * excluded NodePools.
 */
const comparable = (text: string): string =>
  text
    .replace(/; NodePool \S+ is not used .*$/, '')
    .replaceAll(/karpenter\.(test\.sh\/testnodeclass|k8s\.aws\/ec2nodeclass) In \[default\], /g, '');

/**
 * Reports whether reasons are comparable. The volume cases have no reasons for pods that are rejected before
 * scheduling. In mixed cases daemons have alternative affinity terms, which the engine counts differently (see its
 * README).
 */
const wordsAreKnown = (name: string): boolean => !/-(volumes|mix)$/.test(name);

describe('simulate', () => {
  let folder: string;
  const typeFiles = new Map<string, string>();

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'conformance-'));
    for (const file of readdirSync(CASES).filter((name) => name.endsWith('.gz'))) {
      const path = join(folder, file.replace('.gz', ''));
      writeFileSync(path, gunzipSync(readFileSync(join(CASES, file))));
      typeFiles.set(file.replace('.gz', ''), path);
    }
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  const runs = names.flatMap((name) => (['cheapest', 'compatible'] as const).map((packing) => ({ name, packing })));

  it.each(runs)('solves $name, $packing', async ({ name, packing }) => {
    const expected = JSON.parse(read(name, 'expected.json')) as Expected;
    const typesPath = typeFiles.get(read(name, 'types').trim()) ?? '';
    const { simulation } = await simulate({
      filename: [join(CASES, name, 'scenario.yaml')],
      instanceTypes: typesPath,
      packing,
    });

    const objects = read(name, 'scenario.yaml')
      .split('\n---\n')
      .map((document) => JSON.parse(document) as ScenarioObject);
    const { instanceTypes } = JSON.parse(readFileSync(typesPath, 'utf8')) as { instanceTypes: TypeEntry[] };
    expect(problemsOf(objects, instanceTypes, simulation)).toEqual([]);

    const wording = (refusals: Readonly<Record<string, string>>): Record<string, string> =>
      Object.fromEntries(
        Object.entries(refusals).map(([pod, text]) => [pod, wordsAreKnown(name) ? comparable(text) : '']),
      );
    expect(wording(simulation.unschedulable)).toEqual(wording(expected.unschedulable));
    expect(simulation.totalPrice).toBeLessThanOrEqual(expected.totalPrice * PRICE_SLACK + 1e-9);
  });
});
