/** Offline commands return the same results for a redacted snapshot and for the whole cluster. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { sceneOptions, simulateDisruption } from '../../../../src/cli/disruption.ts';
import { explainNodes } from '../../../../src/cli/explain.ts';
import { typesNoting } from '../../../../src/cli/scenario.ts';
import { simulate } from '../../../../src/cli/simulate.ts';
import { Redactor } from '../../../../src/cli/snapshot/redact.ts';
import { randomDump } from './random-dump.ts';
import { SECRET } from './secrets.ts';

/** SEEDS=16 runs more seeds. */
const SEEDS = Array.from({ length: Number(process.env.SEEDS ?? 10) }, (_, at) => at + 1);
const NOW = Date.parse('2026-06-03T10:30:00Z');
const GATES = 'NodeOverlay=true,StaticCapacity=true,CapacityBuffer=true';

describe('the result for a redacted snapshot', () => {
  const folder = mkdtempSync(join(tmpdir(), 'answers-'));
  afterAll(() => rmSync(folder, { recursive: true }));

  const file = (objects: readonly KubeObject[], name: string): string => {
    const path = join(folder, name);
    writeFileSync(path, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: objects }));
    return path;
  };

  async function answers(objects: readonly KubeObject[], changes: readonly KubeObject[]) {
    // Notes contain the name of the file.
    const filename = [file(objects, 'now.json')];
    const whatIf = changes.length === 0 ? [] : [file(changes, 'change.json')];
    const flags = { filename, whatIf, nowMs: NOW, featureGates: GATES, explain: true, output: 'json' as const };
    const { types } = typesNoting(flags);
    const { simulation, notes } = await simulate(flags);
    const { disruption } = await simulateDisruption({ ...sceneOptions(flags, types), everyMethod: true });
    const { verdicts } = await explainNodes(flags, types);
    return { simulation, notes, disruption, verdicts };
  }

  let drifted = 0;
  let bought = 0;
  it.each(SEEDS)('equals the result for the whole cluster, seed %i', async (seed) => {
    const { objects, changes } = randomDump(seed);
    const redactor = new Redactor();
    const redacted = objects.map((object) => redactor.redacted(object));
    expect(JSON.stringify(objects)).toContain(SECRET);
    expect(JSON.stringify(redacted)).not.toContain(SECRET);
    for (const what of [[], changes]) {
      const whole = await answers(objects, what);
      expect(await answers(redacted, what)).toEqual(whole);
      drifted += whole.disruption.methods?.find(({ method }) => method === 'drift')?.candidates.length ?? 0;
      bought += whole.simulation.nodeClaims.length;
    }
  });

  it('contains drift and launches', () => {
    expect(drifted).toBeGreaterThan(5);
    expect(bought).toBeGreaterThan(5);
  });
});
