/** Lives, settings and report of the benchmark of lives. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { NodePool } from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import type { LifeAmount } from '#replay/run';
import { LIFE_AMOUNTS, type LifeFigures } from '#replay/testing';
import { GENERATORS, type TraceEvent } from '#replay/trace';
import { lowestCostUsd } from '../../../bench/life/bound.ts';
import { KINDS, type Life, lifeOf, type SEEDS, traceOf } from '../../../bench/life/kinds.ts';
import { jobsOf, lifeBenchmark, PAGE, readOptions } from '../../../bench/life/life.ts';
import { ratioFrom } from '../../../bench/life/ratios.ts';
import { type LifeResult, type PlayLives, playAtMostTwice, resultOf } from '../../../bench/life/runs.ts';
import { type GpuUse, gpuUseOf, SETTINGS, setsFor } from '../../../bench/life/settings.ts';
import { BEGIN, boundTable, END, lifeTable, Results, verdictLines, withTable } from '../../../bench/life/table.ts';
import { sourcesOf } from '../../../bench/life/traces.ts';
import { partial } from '../../support/partial.ts';

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'karpenter-life-'));
  for (const name of ['b.jsonl.gz', 'a.jsonl', 'README.md']) writeFileSync(join(folder, name), '');
});
afterAll(() => {
  rmSync(folder, { recursive: true });
});

const figures = (life: number, more: Partial<LifeFigures>): LifeFigures => {
  const none = Object.fromEntries(LIFE_AMOUNTS.map((amount) => [amount, 0])) as Record<LifeAmount, number>;
  return { life, ...none, ...more };
};

/** Results of one kind, by setting: costs of the lives. A missing cost stands for a life that failed. */
function resultsOf(
  kind: string,
  costs: Readonly<Record<string, readonly (number | undefined)[]>>,
): readonly LifeResult[] {
  return Object.entries(costs).flatMap(([setting, ofLives]) =>
    ofLives.map((usd, at): LifeResult => {
      const known = { kind, life: lifeOf(at + 1, 'tune'), setting, args: [], cpuSeconds: 1 };
      const evictions = setting === 'default' ? 1 : 3;
      return usd === undefined
        ? { ...known, failure: 'broken' }
        : { ...known, figures: figures(at + 1, { usd, evictions }) };
    }),
  );
}

const NAMES = ['karpenter', 'balanced', 'default'];
const TITLES = { karpenter: "Karpenter's way", balanced: 'Balanced', default: 'default' };
const RESULTS = new Results(
  [
    ...resultsOf('small', { karpenter: [1, 1], balanced: [0.8, 0.8], default: [1.2, 1.2] }),
    ...resultsOf('large', { karpenter: [1000, 1000], balanced: [1000, 1000], default: [500, 500] }),
  ],
  NAMES,
);

describe('a life that fails', () => {
  const played = (...outcomes: readonly ('ends' | string)[]) => {
    const left = [...outcomes];
    return playAtMostTwice(async () => {
      const outcome = left.shift();
      return outcome === 'ends' ? { idleCpu: 1, cpuSeconds: 2 } : { failure: outcome ?? 'not planned', cpuSeconds: 3 };
    });
  };

  it('is played once more, and the result has the failure', async () => {
    expect(await played('ends')).toEqual({ idleCpu: 1, cpuSeconds: 2 });
    expect(await played('memory', 'ends')).toEqual({ idleCpu: 1, cpuSeconds: 5, repeatedAfter: 'memory' });
    expect(await played('memory', 'again', 'ends')).toEqual({
      failure: 'again',
      cpuSeconds: 6,
      repeatedAfter: 'memory',
    });
  });
});

describe('the report of lives', () => {
  const rows = lifeTable(RESULTS, TITLES).split('\n');
  const rowOf = (name: string): readonly string[] =>
    (rows.find((row) => row.startsWith(`| ${name} |`)) ?? '')
      .split(' | ')
      .map((cell) => cell.replaceAll(/^\| | \|$/g, ''));

  it('has the geometric mean of the ratios of all kinds, in which the amounts of a kind do not count', () => {
    // √(1.2 · 0.5) = 0.775, and √(1.5 · 0.5) = 0.866 beside the cheaper of the first two
    expect(rowOf('**all kinds**').slice(0, 5)).toEqual([
      '**all kinds**',
      '1',
      '−10.6 % (−10.6 % to −10.6 %)',
      '−22.5 % (−22.5 % to −22.5 %)',
      '−13.4 % (−13.4 % to −13.4 %)',
    ]);
    expect(rowOf('**all kinds**')[5]).toBe('1 / 1.00 / 0.50');
  });

  it('has one row for each kind, with the ratio to the cheaper of the settings of Karpenter', () => {
    expect(rowOf('small').slice(1, 6)).toEqual([
      '$1.00',
      '−20.0 % (−20.0 % to −20.0 %)',
      '+20.0 % (+20.0 % to +20.0 %)',
      '+50.0 % (+50.0 % to +50.0 %)',
      '3.00 / 3.00 / 1.00'.replaceAll('.00', ''),
    ]);
  });

  it('has one row for each value of a parameter that differs between the lives', () => {
    for (const name of ['on-demand', 'spot', 'with DaemonSets', 'without DaemonSets', '`consolidateAfter: 1m`'])
      expect(rowOf(name)).not.toEqual(['']);
    expect(rowOf('mixed')).toEqual(['']);
  });

  it('has the distance of each kind from the lower bound, for the lives that have one', () => {
    const bounded = resultsOf('small', { karpenter: [2, 9], balanced: [2, 9], default: [1.5, 9] }).map((result) =>
      result.life.number === 1 ? { ...result, lowestUsd: 1, idleCpu: 0.25 } : result,
    );
    const [head, , ...lines] = boundTable(new Results(bounded, NAMES), TITLES).split('\n');
    expect(head).toContain("| above the bound: Karpenter's way |");
    expect(lines).toEqual(['| small | +100.0 % | +100.0 % | +50.0 % | 25.0 % | 25.0 % | 25.0 % |']);
  });

  it('names the worst kind, and the kinds over the tolerance', () => {
    expect(verdictLines(RESULTS)).toEqual([
      'The worst kind is small, with +50.0 % (+50.0 % to +50.0 %) cost compared with balanced.',
      "1 of 2 kinds cost over 2 % more than the cheaper of Karpenter's settings: small.",
      'The most evictions in proportion are in small: 0.50 of the evictions with the first setting.',
    ]);
  });

  it('compares only lives that all settings finished, and only with an interval for several lives', () => {
    const partial = resultsOf('partial', { karpenter: [1, 5], balanced: [1, 1], default: [2, undefined] });
    const results = new Results(partial, NAMES);
    expect(results.livesOf('partial').map(([first]) => first?.life.number)).toEqual([1]);
    expect(lifeTable(results, TITLES)).toContain('| +100.0 % |');
  });

  it('has intervals that contain the mean and shrink with the number of lives', () => {
    const few = ratioFrom([0.1, -0.1, 0.2]);
    const many = ratioFrom([0.1, -0.1, 0.2, 0.1, -0.1, 0.2, 0.1, -0.1, 0.2]);
    expect(few.mean).toBeCloseTo(Math.exp(0.2 / 3), 9);
    const width = ({ interval: [low, high] = [0, 0] }: typeof few): number => high - low;
    expect(width(many)).toBeLessThan(width(few) / 2);
    expect(ratioFrom([0.5]).interval).toBeUndefined();
  });

  it('replaces the table between the lines of the page', () => {
    const page = `before\n${BEGIN}\n\nold\n\n${END}\nafter\n`;
    expect(withTable(page, 'new')).toBe(`before\n${BEGIN}\n\nnew\n\n${END}\nafter\n`);
    expect(() => withTable('nothing', 'new')).toThrow(/the page has no lines/);
  });
});

describe('a life', () => {
  it('has each value of each parameter, in all pairs of capacity and consolidateAfter over twelve lives', () => {
    const lives = Array.from({ length: 12 }, (_, index) => lifeOf(index + 1, 'tune'));
    expect(new Set(lives.map(({ capacity, consolidateAfter }) => `${capacity} ${consolidateAfter}`)).size).toBe(12);
    const eight = lives.slice(0, 8);
    expect(
      new Set(eight.map(({ consolidateAfter, hasDaemonSets }) => `${consolidateAfter} ${hasDaemonSets}`)).size,
    ).toBe(8);
  });

  it('has different seeds for tuning and for reports', () => {
    const seedsOf = (use: keyof typeof SEEDS): readonly number[] =>
      Array.from({ length: 500 }, (_, index) => lifeOf(index + 1, use).seed);
    const tuned = new Set(seedsOf('tune'));
    expect(seedsOf('report').filter((seed) => tuned.has(seed))).toEqual([]);
  });

  const base: Life = { ...lifeOf(1, 'tune'), capacity: 'spot', hasDaemonSets: true };
  const textOf = async (life: Life): Promise<string> => {
    const [kind] = KINDS;
    if (kind === undefined) throw new Error('no kind');
    return JSON.stringify(await Array.fromAsync((await traceOf(kind, life)).events()));
  };

  it('is equal for equal seeds, and differs for other seeds', async () => {
    expect(await textOf(base)).toBe(await textOf(base));
    expect(await textOf({ ...base, seed: base.seed + 1 })).not.toBe(await textOf(base));
  });

  it('gives the last Jobs time to end', async () => {
    const draining = KINDS.filter(({ drainHours }) => drainHours !== undefined);
    expect(draining.length).toBeGreaterThan(0);
    for (const kind of draining) {
      const trace = await traceOf(kind, base);
      const events = await Array.fromAsync(trace.events());
      expect(trace.header.seconds).toBe((kind.hours + (kind.drainHours ?? 0)) * 3_600);
      expect(events.at(-1)?.at).toBeLessThanOrEqual(kind.hours * 3_600);
    }
  });

  it('differs from others only in the parameters of the life', async () => {
    expect(await textOf(base)).toContain('"kind":"DaemonSet"');
    expect(await textOf({ ...base, hasDaemonSets: false })).not.toContain('"kind":"DaemonSet"');
    expect(await textOf(base)).not.toContain('capacity-type');
    const mixed = JSON.parse(await textOf({ ...base, capacity: 'mixed' })) as readonly TraceEvent[];
    const deployments = mixed.filter((event) => 'apply' in event && event.apply.kind === 'Deployment');
    const required = deployments.filter((event) => JSON.stringify(event).includes('"on-demand"')).length;
    expect(required / deployments.length).toBeGreaterThan(0.1);
    expect(required / deployments.length).toBeLessThan(0.6);
  });

  it('is described on the page of replays', () => {
    const page = readFileSync(PAGE, 'utf8');
    for (const { name, pods, startHour, hours } of KINDS)
      expect(page).toContain(`\n| \`${name}\` | ${pods} | ${startHour} to ${startHour + hours} | `);
  });

  it('costs at least its lower bound, which does not depend on the constraints of pods', async () => {
    const web = { apiVersion: 'apps/v1', kind: 'Deployment', metadata: { name: 'web', namespace: 'default' } };
    const boundOf = (spec: object): Promise<number> =>
      lowestCostUsd(
        {
          header: { trace: 'karpenter/v1', name: 'web', start: '2026-01-05T00:00:00Z', seconds: 7_200 },
          async *events() {
            const containers = [{ name: 'web', resources: { requests: { cpu: '2', memory: '4Gi' } } }];
            yield {
              at: 0,
              apply: partial({ ...web, spec: { replicas: 4, template: { spec: { containers, ...spec } } } }),
            };
            yield { at: 3_600, scale: { ...web, name: 'web' }, replicas: 0 };
          },
        },
        setsFor('none')[0]?.objects ?? [],
        3,
      );
    const usd = await boundOf({});
    // 8 CPUs and 16 GiB for one hour, at the price per CPU of large machines; the second hour would cost as much again
    expect(usd).toBeGreaterThan(0.25);
    expect(usd).toBeLessThan(0.31);
    expect(await boundOf({ nodeSelector: { 'kubernetes.io/arch': 'arm64' } })).toBe(usd);
  });

  it('exists for every generated kind of trace', () => {
    const generators = KINDS.map(({ name, generator = name }) => generator);
    expect([...new Set(generators)].sort()).toEqual(Object.keys(GENERATORS).sort());
  });
});

describe('the benchmark of lives', () => {
  it('plays all kinds and the files of a folder, or a selection by the beginnings of their names', () => {
    const namesOf = (...args: readonly string[]) => readOptions(args, {}).kinds.map(({ name }) => name);
    expect(namesOf()).toEqual(KINDS.map(({ name }) => name));
    expect(namesOf('--kind', 'small-services,mi')).toEqual(['small-services', 'mix']);
    expect(namesOf('--traces', folder).slice(-2)).toEqual(['a', 'b']);
    expect(sourcesOf({ folder, only: 'a,batch' }).map(({ name }) => name)).toEqual(['a', 'batch']);
  });

  it('plays every life of every kind with every setting, and files with fixed parameters', () => {
    const options = readOptions(['--kind', 'mix,a', '--settings', 'default'], { LIFE_TRACES: folder });
    const jobs = [1, 2].flatMap((number) => jobsOf(options, number));
    expect(jobs.map(({ kind, life }) => [kind.name, life.number, life.capacity])).toEqual([
      ['mix', 1, 'on-demand'],
      ['a', 1, 'on-demand'],
      ['mix', 2, 'spot'],
      ['a', 2, 'on-demand'],
    ]);
  });

  it('fixes parameters, and plays one life of two settings with --quick', () => {
    const options = readOptions(
      ['--quick', '--capacity', 'spot', '--daemonsets', 'false', '--with', 'x=--a=1 --b=2'],
      {},
    );
    expect(options.fixed).toEqual({ capacity: 'spot', hasDaemonSets: false });
    expect(options.lives).toBe(1);
    expect(options.settings.map(({ name, args }) => [name, args.length])).toEqual([
      ['karpenter', 4],
      ['default', 0],
      ['x', 2],
    ]);
  });

  it.each([
    [['--lives', '0'], '--lives must be a positive integer, not "0"'],
    [['--kind', 'none'], 'no kind begins with "none"; correct --kind or --traces'],
    [['--settings', 'cheap'], '--settings has no "cheap"; use karpenter, balanced, default, deletion-costs'],
    [['--capacity', 'reserved'], '--capacity must be one of on-demand, spot, mixed, not "reserved"'],
    [['--seeds', 'mine'], '--seeds must be one of tune, report, not "mine"'],
    [['--with', 'cheap'], '--with must be NAME=ARGUMENTS, not "cheap"'],
    [['--write'], '--write requires --seeds report'],
    [['--life'], /--life/],
  ])('rejects %p', (args, message) => {
    expect(() => readOptions(args, {})).toThrow(message);
  });

  it('ends a kind early if its interval is below or above the tolerance', async () => {
    const usd: Readonly<Record<string, readonly number[]>> = { mix: [0.8, 0.81, 0.8], batch: [0.8, 1.1, 0.9] };
    const played: string[] = [];
    const play: PlayLives = async (jobs, _processes, onResult) => {
      for (const job of jobs) {
        const { kind, life, setting } = job;
        if (setting.name === 'default') played.push(`${kind.name} ${life.number}`);
        const cost = setting.name === 'default' ? (usd[kind.name]?.[(life.number - 1) % 3] ?? 0) : 1;
        onResult(resultOf(job, { figures: figures(life.number, { usd: cost }), cpuSeconds: 1 }));
      }
    };
    const only = ['--kind', 'mix,batch', '--settings', 'karpenter,default', '--lives', '4'];
    const report = await lifeBenchmark([...only, '--until-decided'], play);
    expect(played.toSorted()).toEqual(['batch 1', 'batch 2', 'batch 3', 'batch 4', 'mix 1', 'mix 2', 'mix 3']);
    expect(report).toContain('3 to 4 lives of each kind');
    await lifeBenchmark(only, play);
    expect(played.filter((name) => name.startsWith('mix'))).toHaveLength(3 + 4);
  });

  it('continues with the lives that a file of results does not have', async () => {
    const file = join(folder, 'results');
    const played: string[] = [];
    const play: PlayLives = async (jobs, _processes, onResult) => {
      for (const job of jobs) {
        played.push(`${job.kind.name} ${job.life.number} ${job.setting.name}`);
        onResult(resultOf(job, { figures: figures(job.life.number, { usd: 1 }), cpuSeconds: 1 }));
      }
    };
    const only = ['--kind', 'mix', '--settings', 'karpenter,default', '--results', file];
    await lifeBenchmark([...only, '--lives', '1'], play);
    const report = await lifeBenchmark([...only, '--lives', '2'], play);
    expect(played).toEqual(['mix 1 karpenter', 'mix 1 default', 'mix 2 karpenter', 'mix 2 default']);
    expect(report).toContain('4 lives took 0.1 min of CPU time.');
  });

  it('has settings that the operator accepts', () => {
    const sets = setsFor('not tolerated');
    expect(sets.map(({ name }) => name)).toEqual(SETTINGS.map(({ title }) => title));
    for (const { args, objects } of sets) {
      expect(parseAwsSettings(args, { CLUSTER_NAME: 'life' }).ignored).toEqual([]);
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
