/** The command with a fake replay. */
import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { parse } from 'yaml';
import type { ReplayOptions } from '#replay/testing';
import type { TraceEvent } from '#replay/trace';
import { DEFAULT_WORLD } from '#replay/world-model';
import { OUTPUTS } from '../../../../scripts/reference/outputs/catalogue.ts';
import { generateFrom } from '../../../../src/cli/replay/generated.ts';
import { type ReplayParts, runsAtOnce } from '../../../../src/cli/replay/play.ts';
import { stoppable } from '../../../../src/cli/replay/watched-play.ts';
import { destination, replayCommand, withSummary } from '../../../../src/cli/replay.ts';
import { strictly } from '../../scripts/strictly.ts';
import { livesResult, sampleResult, stoppedResult } from './results.ts';

const EXAMPLES = join(import.meta.dirname, '../../../../examples');
const MANIFESTS = ['-f', join(EXAMPLES, 'nodepool.yaml'), '-f', join(EXAMPLES, 'ec2nodeclass.yaml')];
const SCHEMA = OUTPUTS.find(({ name }) => name === 'replay')?.schema;

const EVENTS: readonly TraceEvent[] = [0, 60, 3_600, 7_200].map((at) => ({
  at,
  scale: { apiVersion: 'apps/v1', kind: 'Deployment', name: 'web', namespace: 'default' },
  replicas: at,
}));

let folder: string;
let stdout: string;
let stderr: string;
let played: ReplayOptions | undefined;
let opened: (string | undefined)[];

beforeEach(() => {
  process.exitCode = undefined; // earlier tests may have set it
  folder = mkdtempSync(join(tmpdir(), 'replay-'));
  stdout = '';
  stderr = '';
  played = undefined;
  opened = [];
  jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
    stdout += String(text);
    return true;
  });
  jest.spyOn(process.stderr, 'write').mockImplementation((text) => {
    stderr += String(text);
    return true;
  });
});
afterEach(() => {
  jest.restoreAllMocks();
  process.exitCode = undefined;
  rmSync(folder, { recursive: true });
});

const parts = (replay: ReplayParts['replay'] = async () => sampleResult()): ReplayParts => ({
  openTrace: async (source) => {
    opened.push(source);
    return {
      header: { trace: 'karpenter/v1', name: 'web', start: '2026-03-02T00:00:00Z', seconds: 86_400 },
      events: () => EVENTS,
    };
  },
  openWorld: async (file) => {
    opened.push(file);
    return DEFAULT_WORLD;
  },
  replay: (options) => {
    played = options;
    return replay(options);
  },
});

const run = (args: readonly string[], given = parts()) =>
  replayCommand(given)
    .exitOverride()
    .configureOutput({ writeErr: () => undefined })
    .parseAsync(['--trace', 'week.jsonl', ...args], { from: 'user' });

describe('karpenter replay', () => {
  it('runs one set with the defaults, and prints a summary', async () => {
    await run(MANIFESTS);
    expect(opened).toEqual(['week.jsonl', undefined]);
    expect(played?.sets.map(({ name, args }) => ({ name, args }))).toEqual([{ name: 'default', args: [] }]);
    expect(played?.sets[0]?.objects.map(({ kind }) => kind)).toEqual(['NodePool', 'EC2NodeClass']);
    expect(stdout).toMatch(/^ours costs 11\.8 % less than compatible/m);
    expect(process.exitCode).toBeUndefined();
  });

  it('runs the compared sets in the world of a file', async () => {
    const compare = ['--compare', 'a=--packing=compatible', '--compare', 'b='];
    await run([...MANIFESTS, ...compare, '--world', 'world.yaml']);
    expect(opened).toEqual(['week.jsonl', 'world.yaml']);
    expect(played?.sets.map(({ name, args }) => [name, args])).toEqual([
      ['a', ['--packing=compatible']],
      ['b', []],
    ]);
  });

  it('runs --parallel sets at a time, or as many as the machine supports', async () => {
    await run([...MANIFESTS, '--parallel', '3']);
    expect(played?.parallel).toBe(3);
    await run(MANIFESTS);
    expect(played?.parallel).toBe(runsAtOnce());
    const GiB = 2 ** 30;
    expect(runsAtOnce(undefined, { cores: 8, freeBytes: 32 * GiB })).toBe(8);
    expect(runsAtOnce(undefined, { cores: 8, freeBytes: 4 * GiB })).toBe(3);
    expect(runsAtOnce(undefined, { cores: 2, freeBytes: 0.5 * GiB })).toBe(1);
    expect(runsAtOnce(3 * GiB, { cores: 8, freeBytes: 32 * GiB })).toBe(2);
    await expect(run([...MANIFESTS, '--parallel', '0'])).rejects.toThrow('an integer from 1 to 64');
  });

  it('passes the number of lives to the replay', async () => {
    await run([...MANIFESTS, '--lives', '8']);
    expect(played?.lives).toBe(8);
    await run(MANIFESTS);
    expect(played?.lives).toBe(1);
    await expect(run([...MANIFESTS, '--lives', '0'])).rejects.toThrow('an integer from 1 to 100');
  });

  it('uses up to --memory, or a fraction of the available memory', async () => {
    await run([...MANIFESTS, '--memory', '1Gi']);
    expect(played).toMatchObject({ memoryBytes: 2 ** 30, parallel: 1 });
    await run(MANIFESTS);
    expect(played).not.toHaveProperty('memoryBytes');
    await expect(run([...MANIFESTS, '--memory', '64Mi'])).rejects.toThrow('a size from 256Mi to 16Ti, for example 4Gi');
    await expect(run([...MANIFESTS, '--memory', 'much'])).rejects.toThrow('a size from 256Mi to 16Ti, for example 4Gi');
  });

  it('replays the trace up to --until', async () => {
    await run([...MANIFESTS, '--until', '1h']);
    const events: number[] = [];
    for await (const { at } of played?.trace.events() ?? []) events.push(at);
    expect(events).toEqual([0, 60]);
    expect(played?.trace.header.seconds).toBe(3_600);
    await run([...MANIFESTS, '--until', '3d']);
    expect(played?.trace.header.seconds).toBe(86_400);
  });

  it('prints JSON that matches its schema, and the same values as YAML', async () => {
    await run([...MANIFESTS, '-o', 'json', '-o', `yaml=${join(folder, 'a.yaml')}`]);
    expect(strictly(SCHEMA, JSON.parse(stdout))).toEqual([]);
    expect(parse(readFileSync(join(folder, 'a.yaml'), 'utf8'))).toEqual(JSON.parse(stdout));
    expect(strictly(SCHEMA, JSON.parse(JSON.stringify(livesResult())))).toEqual([]);
    expect(strictly(SCHEMA, { ...sampleResult(), extra: 1 })).not.toEqual([]);
  });

  it('writes a page in addition to the summary', async () => {
    const file = join(folder, 'replay.html');
    await run([...MANIFESTS, '-o', `html=${file}`]);
    expect(readFileSync(file, 'utf8')).toMatch(/^<!doctype html>/);
    expect(stdout).toMatch(/^COST$/m);
  });

  it('reports progress', async () => {
    const progress = { set: 'default', index: 0, runs: 1, nodes: 3, pods: 4, usd: 1.5 };
    await run(
      MANIFESTS,
      parts(async ({ onProgress }) => {
        for (const share of [0, 0.04, 0.5]) onProgress?.({ ...progress, share });
        return sampleResult();
      }),
    );
    expect(stderr).toMatch(/^default 0 % .*\ndefault 50 % 2026-03-02 12:00 3 nodes 4 pods \$1\.50, \d.* left\n/);
  });

  it.each([
    ['an unknown argument', ['--compare', 'a=--packng=x'], /did you mean "--packing"/],
    ['a missing price book', ['--price-book', 'none.yaml'], /none\.yaml: cannot be read/],
    ['a missing folder', ['-o', 'html=/nowhere/at/all.html'], /^\/nowhere\/at\/all\.html: cannot be written/],
    ['a folder in place of a file', ['-o', `html=${EXAMPLES}`], /is a folder; use a file name/],
    ['an unknown format', ['-o', 'pdf=x'], /Expected summary, json, yaml, html/],
    ['a page without a file', ['-o', 'html'], /Add a file name: html=replay\.html/],
    ['a missing file of sets', ['--sets', 'none.yaml'], /none\.yaml: cannot be read/],
    ['an invalid time', ['--until', 'soon'], /Expected a duration of at most 366d/],
  ])('reports %s before the replay starts', async (_, args, message) => {
    await expect(run([...MANIFESTS, ...args])).rejects.toThrow(message);
    expect(played).toBeUndefined();
  });

  it('requires NodePools', async () => {
    await expect(run([])).rejects.toThrow('--trace week.jsonl: no NodePool found');
  });

  it('prints partial results if it is stopped, and exits with 130', async () => {
    const stopping: ReplayParts['replay'] = async ({ signal }) => {
      await new Promise((resolve) => {
        signal?.addEventListener('abort', resolve);
        process.emit('SIGINT');
      });
      return { ...stoppedResult(), runs: stoppedResult().runs.slice(1) };
    };
    await run([...MANIFESTS, '--compare', 'compatible=', '--compare', 'ours='], parts(stopping));
    expect(process.exitCode).toBe(130);
    expect(stdout).toMatch(/UNFINISHED/);
    expect(stderr).toMatch(/^stopping; press Ctrl-C again to exit immediately\nnote: ours is incomplete/);
    expect(stderr).toMatch(/note: not replayed: compatible\n$/);
    expect(process.listenerCount('SIGINT')).toBe(0);
  });
});

it('exits immediately if it is stopped twice', async () => {
  const handlers: (() => void)[] = [];
  const codes: number[] = [];
  const stops: boolean[] = [];
  await stoppable(
    async (signal) => {
      handlers[0]?.();
      expect(signal.aborted).toBe(true);
      handlers[0]?.();
    },
    () => stops.push(true),
    { on: (_, handler) => handlers.push(handler), off: () => undefined, exit: (code) => codes.push(code) },
  );
  expect({ codes, stops }).toEqual({ codes: [130], stops: [true] });
});

describe('-o', () => {
  const read = (...given: readonly string[]) =>
    given.reduce<ReturnType<typeof destination>>((before, each) => destination(each, before), []);

  it('parses formats and files', () => {
    expect(read('json', 'html=a=b.html')).toEqual([{ form: 'json' }, { form: 'html', file: 'a=b.html' }]);
  });

  it('includes the summary unless another format is printed', () => {
    expect(withSummary()).toEqual([{ form: 'summary' }]);
    expect(withSummary(read('html=a'))).toEqual([{ form: 'summary' }, { form: 'html', file: 'a' }]);
    expect(withSummary(read('json'))).toEqual([{ form: 'json' }]);
    expect(withSummary(read('summary=a'))).toEqual([{ form: 'summary', file: 'a' }]);
  });

  it.each([
    [['json', 'yaml'], 'json is already written to standard output'],
    [['json=a', 'html=a'], 'json is already written to a'],
    [['json='], 'Expected summary'],
  ])('rejects %j', (given, message) => {
    expect(() => read(...given)).toThrow(message);
  });
});

describe('a generated trace', () => {
  it('has the requested kind, duration and size', () => {
    expect(generateFrom('generate:batch').header).toMatchObject({ name: 'batch', seconds: 604_800 });
    expect(
      generateFrom('generate:web-service?pods=5&duration=36h&seed=7&start=2026-03-02T00:00:00Z').header,
    ).toMatchObject({
      seconds: 129_600,
      start: '2026-03-02T00:00:00Z',
      source: expect.stringMatching(/seed 7, 5 pods/),
    });
  });

  it.each([
    ['generate:web-servic', '--trace generate:web-servic: unknown generator "web-servic"; did you mean "web-service"?'],
    ['generate:toString', 'unknown generator "toString"; use one of web-service, batch'],
    ['generate:mix?pod=5', 'unknown option "pod"; did you mean "pods"?'],
    ['generate:mix?pods=0', 'pods must be an integer from 1 to 100000, not "0"'],
    ['generate:mix?pods=100001', 'pods must be an integer from 1 to 100000, not "100001"'],
    ['generate:mix?seed=-1', 'seed must be an integer from 0 to 9007199254740991, not "-1"'],
    ['generate:mix?duration=long', 'duration must be at most 366d, for example 7d or 36h, not "long"'],
    ['generate:mix?duration=999d', 'duration must be at most 366d'],
    ['generate:mix?start=now', 'start must be a time, for example'],
  ])('rejects %s', (source, message) => {
    expect(() => generateFrom(source)).toThrow(message);
  });
});
