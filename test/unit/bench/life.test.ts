/** Results of the benchmark of lives. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { parseSettings } from '../../../src/process/settings.ts';
import { compareLives, LIFE_AMOUNTS } from '../../../src/replay/lives/life-runs.ts';
import type { LifeAmount, LifeFigures, LivesSummary } from '../../../src/replay/lives/lives-result.ts';
import { GENERATORS } from '../../../src/replay/trace/generators/generate.ts';
import { type GpuUse, gpuUseOf, lifeBenchmark, readOptions, setsFor, sourcesOf } from '../../bench/life/life.ts';
import { BEGIN, END, type LivesOfTrace, lifeTable, togetherOf, withTable } from '../../bench/life/table.ts';

const figures = (life: number, usd: number, waitingP95: number): LifeFigures => {
  const none = Object.fromEntries(LIFE_AMOUNTS.map((amount) => [amount, 0])) as Record<LifeAmount, number>;
  return { life, ...none, usd, waitingP95 };
};

/** Costs of the lives of two sets. A missing cost stands for a life that failed. */
function livesOf(first: readonly number[], second: readonly (number | undefined)[], waitingP95 = 60): LivesSummary {
  const played = (costs: readonly (number | undefined)[]): readonly LifeFigures[] =>
    costs.flatMap((usd, at) => (usd === undefined ? [] : [figures(at + 1, usd, waitingP95)]));
  const sets = compareLives([
    { name: 'one', lives: played(first) },
    { name: 'other', lives: played(second) },
  ]);
  return { count: first.length, sets, failures: [] };
}

const RESULTS: readonly LivesOfTrace[] = [
  { trace: 'small', lives: livesOf([10, 12], [9, 11]) },
  { trace: 'large', lives: livesOf([100, 110], [99, 109], 20) },
];

describe('the table of lives', () => {
  it('has the sums of all traces first, and each figure with its difference and interval', () => {
    const [head, , ...rows] = lifeTable(RESULTS).split('\n');
    expect(head).toBe('| trace | figure | one | other |');
    expect(rows).toHaveLength(3 * 6);
    expect(rows[0]).toBe('| all traces together | cost | $116.00 | $114.00; −1.7 % (−1.7 % to −1.7 %) |');
    expect(rows[3]).toBe('|  | p95 waiting | 40 s | 40 s; no difference shown: equal in all lives |');
    expect(rows[6]).toMatch(/^\| small \| cost \| \$11\.00 \| \$10\.00; −9\.1 %/);
  });

  it('compares only lives that all traces have', () => {
    const partial = { trace: 'partial', lives: livesOf([1, 2], [undefined, 2]) };
    const [one, other] = togetherOf([...RESULTS, partial]).sets;
    expect(one?.lives.map(({ usd }) => usd)).toEqual([111, 124]);
    expect(other?.lives.map(({ life, usd }) => [life, usd])).toEqual([[2, 122]]);
    expect(other?.difference?.pairs).toBe(1);
  });

  it('replaces the table between the lines of the page', () => {
    const page = `before\n${BEGIN}\n\nold\n\n${END}\nafter\n`;
    expect(withTable(page, 'new')).toBe(`before\n${BEGIN}\n\nnew\n\n${END}\nafter\n`);
    expect(() => withTable('nothing', 'new')).toThrow(/the page has no lines/);
  });
});

describe('the benchmark of lives', () => {
  it('plays the files of a folder and all generators', () => {
    const folder = mkdtempSync(join(tmpdir(), 'karpenter-life-'));
    for (const name of ['b.jsonl.gz', 'a.jsonl', 'README.md']) writeFileSync(join(folder, name), '');
    const names = sourcesOf({ folder, only: '' }).map(({ name }) => name);
    rmSync(folder, { recursive: true });
    expect(names).toEqual(['a', 'b', ...Object.keys(GENERATORS)]);
    expect(sourcesOf({ folder: undefined, only: 'pipe' })).toEqual([
      { name: 'pipeline', source: 'generate:pipeline?pods=100&duration=1d&seed=1' },
    ]);
    const several = sourcesOf({ folder: undefined, only: 'batch,mi' }).map(({ name }) => name);
    expect(several).toEqual(['batch', 'mix']);
  });

  it('names the option if no trace is selected', async () => {
    await expect(lifeBenchmark(['--only', 'none'])).rejects.toThrow(
      'no trace begins with "none"; correct --traces or --only',
    );
  });

  it('reads its options', () => {
    expect(readOptions(['--lives', '3', '--write'], { LIFE_TRACES: '/traces' })).toEqual({
      folder: '/traces',
      lives: 3,
      only: '',
      results: undefined,
      isWritten: true,
    });
    expect(readOptions(['--traces', 'here'], { LIFE_TRACES: '/traces' }).folder).toBe('here');
    expect(() => readOptions(['--lives', '1'], {})).toThrow('--lives must be an integer of at least 2, not "1"');
    expect(() => readOptions(['--life'], {})).toThrow(/--life/);
  });

  it('has four settings that the operator accepts', () => {
    const sets = setsFor('not tolerated');
    expect(sets.map(({ name }) => name)).toEqual([
      "Karpenter's way",
      "Karpenter's way, Balanced",
      'default',
      'default, deletion costs',
    ]);
    for (const { args, objects } of sets) {
      expect(parseSettings(args, { CLUSTER_NAME: 'life' }).ignored).toEqual([]);
      expect(objects.map(({ kind }) => kind)).toEqual(['EC2NodeClass', 'NodePool', 'NodePool']);
    }
    expect(setsFor('none')[0]?.objects).toHaveLength(2);
  });

  it('has a taint on nodes with GPUs if all pods with GPUs tolerate it', async () => {
    const pod = (requests: object, ...tolerations: readonly object[]) =>
      ({ at: 0, apply: { kind: 'Pod', spec: { containers: [{ resources: { requests } }], tolerations } } }) as never;
    const plain = pod({ cpu: '1' });
    const open = pod({ 'nvidia.com/gpu': '1' });
    const tolerant = pod({ 'nvidia.com/gpu': '1' }, { key: 'nvidia.com/gpu', operator: 'Exists' });
    const useOf = (...events: readonly never[]) =>
      gpuUseOf({
        async *events() {
          yield* events;
        },
      });
    expect(await useOf(plain)).toBe('none');
    expect(await useOf(tolerant, plain)).toBe('tolerated');
    expect(await useOf(tolerant, open)).toBe('not tolerated');
    const taintsOf = (use: GpuUse) =>
      (setsFor(use)[0]?.objects as NodePool[]).map(({ spec }) => spec.template?.spec.taints);
    expect(taintsOf('tolerated')).toEqual([undefined, undefined, [{ key: 'nvidia.com/gpu', effect: 'NoSchedule' }]]);
    expect(taintsOf('not tolerated')).toEqual([undefined, undefined, undefined]);
  });
});
