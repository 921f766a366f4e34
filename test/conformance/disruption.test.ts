/** `karpenter simulate --disruption` on the cases: the first command must be one that Karpenter 1.14.1 would execute. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type SceneOptions, sceneOf, sceneOptions, simulateDisruption } from '../../src/cli/disruption.ts';
import { readInstanceTypes } from '../../src/cli/objects/catalogue.ts';
import { candidateOf, isBlock } from '../../src/engine/disruption/candidates.ts';
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

  function optionsFor(name: string): SceneOptions {
    const scenario = join(folder, `${name}.yaml`);
    writeFileSync(scenario, unzipped(join(CASES, name, 'scenario.yaml.gz')));
    const options = join(CASES, name, 'options.json');
    return sceneOptions(
      { filename: [scenario], options, output: 'json', consolidation: 'compatible' },
      async () => () => typesOf(name),
    );
  }

  it.each(readdirSync(CASES))('%s', async (name) => {
    const expected = expectedOf(name);
    const { disruption } = await simulateDisruption({ ...optionsFor(name), everyMethod: true });
    expect(problemOf(disruption, expected)).toBe('');

    const settled = expected.methods.filter(({ method }) => !expected.varying?.includes(method));
    const own = new Map(disruption.methods?.map((result) => [result.method, outcomeText(result)]));
    for (const result of settled) expect(own.get(result.method)).toBe(outcomeText(result));
  });

  it.each(readdirSync(CASES))('%s: prices, costs and why nodes are no candidates', async (name) => {
    const { scene } = await sceneOf(optionsFor(name));
    const { nodes, nowMs, podDisruptionBudgets } = scene.snapshot;
    for (const expected of expectedOf(name).nodes) {
      // nodes that have not registered are known by their claim's name there
      const node = nodes.find((each) => [each.name, each.nodeClaim?.metadata.name].includes(expected.name));
      if (node === undefined) throw new Error(`there is no node ${expected.name}`);
      for (const disruptionClass of ['graceful', 'eventual'] as const) {
        const { inProgress, pools } = scene;
        const found = candidateOf(node, { nowMs, class: disruptionClass, inProgress, pools, podDisruptionBudgets });
        expect(isBlock(found) ? found.text : undefined).toBe(expected.notCandidate?.[disruptionClass]);
        if (isBlock(found)) continue;
        expect(found.usdPerHour).toBeCloseTo(expected.price, 6);
        expect(found.disruptionCost).toBeCloseTo(expected.disruptionCost, 6);
        expect(found.rescheduleCost).toBeCloseTo(expected.rescheduleDisruptionCost, 6);
        expect(found.savingsRatio).toBeCloseTo(expected.savingsRatio, 6);
      }
    }
  });
});
