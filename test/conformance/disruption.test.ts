/** `karpenter simulate --disruption` on the cases: the first command must be one that Karpenter 1.14.1 would execute. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { readCaseOptions, simulateDisruption } from '../../src/cli/disruption.ts';
import { readInstanceTypes } from '../../src/cli/objects/catalogue.ts';
import type { InstanceType } from '../../src/engine/model.ts';
import { type Expected, outcomeText, problemOf } from './outcomes.ts';

const CASES = join(import.meta.dirname, 'disruption-cases');
/** The scheduling cases play with the same catalogues. */
const CATALOGUES = join(import.meta.dirname, 'cases');

const unzipped = (path: string): Buffer => gunzipSync(readFileSync(path));
const expectedOf = (name: string): Expected =>
  JSON.parse(unzipped(join(CASES, name, 'expected.json.gz')).toString()) as Expected;

describe('simulate --disruption', () => {
  let folder: string;
  const catalogues = new Map<string, readonly InstanceType[]>();

  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'conformance-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  function typesOf(name: string): readonly InstanceType[] {
    const file = readFileSync(join(CASES, name, 'types'), 'utf8').trim();
    const known = catalogues.get(file);
    if (known !== undefined) return known;
    const path = join(folder, file);
    writeFileSync(path, unzipped(join(CATALOGUES, `${file}.gz`)));
    const types = readInstanceTypes(path);
    catalogues.set(file, types);
    return types;
  }

  async function play(name: string): ReturnType<typeof simulateDisruption> {
    const scenario = join(folder, `${name}.yaml`);
    writeFileSync(scenario, unzipped(join(CASES, name, 'scenario.yaml.gz')));
    const { now = '', featureGates = {}, ...policies } = readCaseOptions(join(CASES, name, 'options.json'));
    return simulateDisruption({
      filename: [scenario],
      instanceTypes: async () => () => typesOf(name),
      nowMs: Date.parse(now),
      preferencePolicy: policies.preferencePolicy ?? 'Respect',
      minValuesPolicy: policies.minValuesPolicy ?? 'Strict',
      featureGates,
      everyMethod: true,
    });
  }

  it.each(readdirSync(CASES))('%s', async (name) => {
    const expected = expectedOf(name);
    const { disruption } = await play(name);
    expect(problemOf(disruption, expected)).toBe('');

    const settled = expected.methods.filter(({ method }) => !expected.varying?.includes(method));
    const own = new Map(disruption.methods?.map((result) => [result.method, outcomeText(result)]));
    for (const result of settled) expect(own.get(result.method)).toBe(outcomeText(result));
  });
});
