/**
 * Plays several lives of real traces and of generated traces with four settings, and compares the settings.
 *
 *   npm run bench -- life [--traces FOLDER] [--lives 8] [--only NAME,…] [--results FILE] [--write]
 *
 * `--traces`, or LIFE_TRACES, is a folder with trace files. `--only` selects traces by the beginnings of their names. `--results`
 * keeps the result of each trace, so that a run that was stopped continues. `--write` writes the table of docs/replay.md.
 */
import { appendFileSync, existsSync, readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { parseArgs } from 'node:util';
import type { KubeObject, Taint } from '../../../src/api/kubernetes.ts';
import type { NodeClaimRequirement } from '../../../src/api/nodeclaim.ts';
import type { NodePool } from '../../../src/api/nodepool.ts';
import { PARTS } from '../../../src/cli/replay/play.ts';
import { type Replay, replay, type SettingsSet } from '../../../src/replay/replay.ts';
import { GENERATORS } from '../../../src/replay/trace/generators/generate.ts';
import type { Trace } from '../../../src/replay/trace/trace.ts';
import { DEFAULT_WORLD } from '../../../src/replay/world-model/world-model.ts';
import { nodeClassOf, nodePoolOf } from '../../support/awsobjects.ts';
import { type LivesOfTrace, lifeTable, withTable } from './table.ts';

export const PAGE = join(import.meta.dirname, '../../../docs/replay.md');
const LIVES = 8;
/** Two lives have a confidence interval. */
const LEAST_LIVES = 2;
const AT_ONCE = 2;
const GENERATED = 'pods=100&duration=1d&seed=1';
const TRACE_FILE = /\.jsonl(\.gz)?$/;
const GPU = 'nvidia.com/gpu';

interface Source {
  readonly name: string;
  /** Argument of `karpenter replay --trace`. */
  readonly source: string;
}

interface LifeOptions {
  readonly folder: string | undefined;
  readonly lives: number;
  readonly only: string;
  readonly results: string | undefined;
  readonly isWritten: boolean;
}

/** @throws Error if an option is unknown or not valid */
export function readOptions(args: readonly string[], env: Readonly<Record<string, string | undefined>>): LifeOptions {
  const { values } = parseArgs({
    args: [...args],
    options: {
      traces: { type: 'string' },
      lives: { type: 'string', default: String(LIVES) },
      only: { type: 'string', default: '' },
      results: { type: 'string' },
      write: { type: 'boolean', default: false },
    },
  });
  const lives = Number(values.lives);
  if (!Number.isInteger(lives) || lives < LEAST_LIVES)
    throw new Error(`--lives must be an integer of at least ${LEAST_LIVES}, not ${JSON.stringify(values.lives)}`);
  return {
    folder: values.traces ?? env.LIFE_TRACES,
    lives,
    only: values.only,
    results: values.results,
    isWritten: values.write,
  };
}

/** Returns the trace files of the folder, and one trace of each generator. */
export function sourcesOf({ folder, only }: Pick<LifeOptions, 'folder' | 'only'>): readonly Source[] {
  const files = folder === undefined ? [] : readdirSync(folder).filter((name) => TRACE_FILE.test(name));
  const all = [
    ...files.sort().map((file) => ({ name: file.replace(TRACE_FILE, ''), source: join(folder ?? '', file) })),
    ...Object.keys(GENERATORS).map((kind) => ({ name: kind, source: `generate:${kind}?${GENERATED}` })),
  ];
  return all.filter(({ name }) => only.split(',').some((beginning) => name.startsWith(beginning)));
}

/** Returns the results of an earlier run, which has written one JSON object per line. */
export function resultsIn<T>(file: string | undefined): readonly T[] {
  if (file === undefined || !existsSync(file)) return [];
  const lines = readFileSync(file, 'utf8').split('\n').filter(Boolean);
  return lines.map((line) => JSON.parse(line));
}

export async function lifeBenchmark(args: readonly string[], play: Replay = replay): Promise<void> {
  const options = readOptions(args, process.env);
  const { lives, results: file } = options;
  const earlier = resultsIn<LivesOfTrace>(file).filter((result) => result.lives.count === lives);
  const sources = sourcesOf(options);
  if (sources.length === 0)
    throw new Error(`no trace begins with ${JSON.stringify(options.only)}; correct --traces or --only`);
  const results: LivesOfTrace[] = [];
  for (const { name, source } of sources) {
    const result = earlier.find(({ trace }) => trace === name) ?? (await playTrace({ name, source }, lives, play));
    results.push(result);
    if (file !== undefined && !earlier.includes(result)) appendFileSync(file, `${JSON.stringify(result)}\n`);
    process.stderr.write(`${name}: ${lives} lives\n${lifeTable([result])}\n`);
  }
  const table = lifeTable(results);
  process.stdout.write(`${table}\n`);
  if (options.isWritten) writeFileSync(PAGE, withTable(readFileSync(PAGE, 'utf8'), pageText(table, options)));
}

const pageText = (table: string, { lives }: LifeOptions): string =>
  `Means of ${lives} lives, and differences from the first setting with 95 % confidence intervals:\n\n${table}`;

async function playTrace({ name, source }: Source, lives: number, play: Replay): Promise<LivesOfTrace> {
  const trace = await PARTS.openTrace(source);
  const sets = setsFor(await gpuUseOf(trace));
  const result = await play({ trace, world: DEFAULT_WORLD, sets, lives, parallel: AT_ONCE });
  if (result.lives === undefined) throw new Error(`${name} has no comparison of lives`);
  return { trace: name, lives: result.lives };
}

/** Use of GPUs by the pods of a trace: `tolerated` if all pods with GPUs tolerate the usual taint of nodes with GPUs. */
export type GpuUse = 'none' | 'tolerated' | 'not tolerated';

export async function gpuUseOf(trace: Pick<Trace, 'events'>): Promise<GpuUse> {
  let use: GpuUse = 'none';
  for await (const event of trace.events()) {
    const text = JSON.stringify(event);
    if (!text.includes(`"${GPU}":`)) continue;
    if (!text.includes(`"key":"${GPU}"`)) return 'not tolerated';
    use = 'tolerated';
  }
  return use;
}

export const KARPENTERS_WAY = [
  '--packing=compatible',
  '--consolidation=compatible',
  '--node-hourly-fee=0',
  '--spot-risk=0',
];

/** Returns the settings. Each is compared with the first. */
export function setsFor(gpuUse: GpuUse): readonly SettingsSet[] {
  const objects = objectsFor('WhenEmptyOrUnderutilized', gpuUse);
  const balanced = objectsFor('Balanced', gpuUse);
  return [
    { name: "Karpenter's way", says: [], args: KARPENTERS_WAY, objects },
    { name: "Karpenter's way, Balanced", says: [], args: KARPENTERS_WAY, objects: balanced },
    { name: 'default', says: [], args: [], objects },
    { name: 'default, deletion costs', says: [], args: ['--pod-deletion-cost=true'], objects },
  ];
}

const allows = (key: string, operator: 'In' | 'Gt' | 'Lt', ...values: readonly string[]): NodeClaimRequirement => ({
  key,
  operator,
  values,
});

/**
 * Returns NodePools with on-demand c, m and r types up to 32 vCPUs. Traces with GPUs may also use types with GPUs of any size, in
 * a NodePool that has the usual taint if all pods with GPUs tolerate it.
 */
function objectsFor(consolidationPolicy: string, gpuUse: GpuUse): readonly KubeObject[] {
  const onDemand = allows('karpenter.sh/capacity-type', 'In', 'on-demand');
  const plain = nodePoolOf(
    onDemand,
    allows('karpenter.k8s.aws/instance-category', 'In', 'c', 'm', 'r'),
    allows('karpenter.k8s.aws/instance-generation', 'Gt', '4'),
    allows('karpenter.k8s.aws/instance-cpu', 'Lt', '33'),
  );
  const gpus = nodePoolOf(onDemand, allows('karpenter.k8s.aws/instance-category', 'In', 'g', 'p'));
  const disruption = { consolidationPolicy, consolidateAfter: '1m' } as NodePool['spec']['disruption'];
  const named = (pool: NodePool, name: string): NodePool => ({
    ...pool,
    metadata: { ...pool.metadata, name },
    spec: { ...pool.spec, ...(disruption && { disruption }) },
  });
  const withGpus = gpuUse === 'tolerated' ? withTaint(gpus, { key: GPU, effect: 'NoSchedule' }) : gpus;
  return [nodeClassOf('replay'), named(plain, 'default'), ...(gpuUse === 'none' ? [] : [named(withGpus, 'gpu')])];
}

function withTaint(pool: NodePool, taint: Taint): NodePool {
  const { template, ...spec } = pool.spec;
  return { ...pool, spec: { ...spec, template: { ...template, spec: { ...template.spec, taints: [taint] } } } };
}
