/** `karpenter simulate --disruption` on the cases: the first command must be one that Karpenter 1.14.1 would execute. */
import { mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { gunzipSync } from 'node:zlib';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type DisruptionAnswer,
  readCatalogue,
  type SceneOptions,
  sceneOf,
  sceneOptions,
  simulateDisruption,
} from '#cli/testing';
import type { Candidate } from '#engine/disruption';
import type { InstanceType } from '#engine/model';
import { candidateOf, disruptionCost, isBlock, isEmpty, poolTotals } from '#engine/testing';
import { decidingSavings, type Expected, type ExpectedNode, outcomeText, problemOf, purchaseOf } from './outcomes.ts';

const CASES = join(import.meta.dirname, 'disruption-cases');
/** Folder with the catalogues, which are shared with the scheduling cases. */
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
    const types = readCatalogue(path).instanceTypes;
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

  const played = new Map<string, DisruptionAnswer>();
  async function play(name: string): Promise<DisruptionAnswer> {
    const known = played.get(name);
    if (known !== undefined) return known;
    const options = optionsFor(name);
    // the reference evaluates static drift without its feature gate; all cases with static NodePools have the gate
    const featureGates = { ...options.featureGates, StaticCapacity: true };
    const { disruption } = await simulateDisruption({ ...options, featureGates, everyMethod: true });
    played.set(name, disruption);
    return disruption;
  }

  it.each(readdirSync(CASES))('%s', async (name) => {
    const expected = expectedOf(name);
    const disruption = await play(name);
    expect(problemOf(disruption, expected)).toBe('');

    const settled = expected.methods.filter(({ method }) => !expected.varying?.includes(method));
    const own = new Map(disruption.methods?.map((result) => [result.method, outcomeText(result)]));
    for (const result of settled) expect(own.get(result.method)).toBe(outcomeText(result));
  });

  it.each(readdirSync(CASES))('prints candidates, budgets and replacements of every method: %s', async (name) => {
    const expected = expectedOf(name);
    const disruption = await play(name);
    for (const wanted of expected.methods) {
      const found = disruption.methods?.find(({ method }) => method === wanted.method);
      expect(found).toMatchObject({ reason: wanted.reason, ...(wanted.budgets ? { budgets: wanted.budgets } : {}) });
      expect(found?.candidates).toEqual([...wanted.candidates].sort());
      if (expected.varying?.includes(wanted.method)) continue;
      for (const [at, command] of wanted.commands.entries()) {
        const own = found?.commands[at];
        expect(own?.replacements.map(purchaseOf)).toEqual((command.replacements ?? []).map(purchaseOf));
        const isPriced = (command.replacements ?? []).every(({ cheapestPrice }) => cheapestPrice >= 0);
        if (isPriced && own) expect(decidingSavings(own)).toBeCloseTo(command.savings, 6);
      }
    }
  });

  function expectSame(found: ReturnType<typeof candidateOf>, expected: ExpectedNode, why: string | undefined): void {
    expect(isBlock(found) ? found.text : undefined).toBe(why);
    if (isBlock(found)) return;
    expect(isEmpty(found)).toBe(expected.empty);
    expect(found.usdPerHour).toBeCloseTo(expected.price, 6);
    expect(found.rescheduleCost).toBeCloseTo(expected.rescheduleDisruptionCost, 6);
    expect(found.savingsRatio).toBeCloseTo(expected.savingsRatio, 6);
  }

  it.each(
    readdirSync(CASES),
  )('prints prices, costs, and the reasons why nodes are not candidates: %s', async (name) => {
    const { pass } = await sceneOf(optionsFor(name));
    const { inProgress, pools, nodes, nowMs, podDisruptionBudgets } = pass;
    const { nodes: expectedNodes, nodePools: expectedPools = {} } = expectedOf(name);
    const graceful: Candidate[] = [];
    for (const expected of expectedNodes) {
      // the reference identifies nodes that are not registered by their NodeClaim's name
      const node = nodes.find((each) => [each.name, each.nodeClaim?.metadata.name].includes(expected.name));
      if (node === undefined) throw new Error(`there is no node ${expected.name}`);
      for (const disruptionClass of ['graceful', 'eventual'] as const) {
        const found = candidateOf(node, { nowMs, class: disruptionClass, inProgress, pools, podDisruptionBudgets });
        expectSame(found, expected, expected.notCandidate?.[disruptionClass]);
        if (isBlock(found)) continue;
        expect(disruptionCost(node.pods, found.nodeClaim, nowMs)).toBeCloseTo(expected.disruptionCost, 6);
        if (disruptionClass === 'graceful') graceful.push(found);
      }
    }
    const totals = [...poolTotals(nodes, graceful, pools)];
    expect(totals.map(([pool]) => pool).sort()).toEqual(Object.keys(expectedPools).sort());
    for (const [pool, { usdPerHour, disruption }] of totals) {
      expect(usdPerHour).toBeCloseTo(expectedPools[pool]?.cost ?? Number.NaN, 6);
      expect(disruption).toBeCloseTo(expectedPools[pool]?.disruptionCost ?? Number.NaN, 6);
    }
  });
});
