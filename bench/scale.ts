/**
 * Growth of the operator's work with the cluster: `npm run bench:scale [-- NODESxPODS…]`, by default up to 15,000 nodes
 * with 200,000 pods. Prints one JSON line for each size and measurement, each in a separate process:
 *
 *
 * - `operator`: lists and watches the cluster over HTTP, then launches nodes for new pods;
 * - `disruption`: runs a pass over a cluster without commands;
 * - `turns`: runs each path of the main thread alone, and measures its longest turn;
 * - `scrape`: writes the metrics in the default view, with the garbage collection of the image's V8.
 */
import { execFile } from 'node:child_process';
import { promisify } from 'node:util';
import { gunzipSync } from 'node:zlib';
import { inSteps } from '#process/testing';
import { imageOptions } from '../test/support/image.ts';
import { measuredCluster } from '../test/unit/controllers/metrics/large-cluster.ts';
import { quietPassLines } from './disruption.ts';
import type { ClusterSize } from './largecluster.ts';
import { operatorLine } from './operator.ts';
import { clusterLines } from './turns/cluster.ts';
import { measuredTurn } from './turns/measured.ts';
import { OBJECT_PATHS } from './turns/objects.ts';

const SIZES = ['1000x10000', '5000x50000', '15000x200000'];
const SCRAPES = 5;

const rounded = (value: number): number => Number(value.toFixed(1));

const cpuMs = (): number => {
  const { user, system } = process.threadCpuUsage();
  return (user + system) / 1_000;
};

async function scrapeLine(size: ClusterSize): Promise<object> {
  const metrics = await measuredCluster(size, 'budget');
  const scrapes: { readonly scrapeCpuMs: number; readonly turnCpuMs: number }[] = [];
  let rendered = await inSteps([]);
  for (let scrape = 0; scrape < SCRAPES; scrape += 1) {
    let [scrapeCpuMs, turnCpuMs, read, before, beganMs] = [0, 0, 0, 0, cpuMs()];
    const turn = (): void => {
      const usedMs = cpuMs() - beganMs;
      turnCpuMs = Math.max(turnCpuMs, usedMs);
      // Other turns wait for the compression of earlier output.
      if (read > before) scrapeCpuMs += usedMs;
      before = read;
      beganMs = cpuMs();
      next = setImmediate(turn);
    };
    const counted = async function* (): AsyncGenerator<string> {
      for await (const part of metrics.parts()) {
        read += 1;
        yield part;
      }
    };
    let next = setImmediate(turn);
    rendered = await inSteps(counted());
    clearImmediate(next);
    scrapes.push({ scrapeCpuMs, turnCpuMs });
  }
  const least = (field: 'scrapeCpuMs' | 'turnCpuMs'): number =>
    rounded(Math.min(...scrapes.map((each) => each[field])));
  const text = gunzipSync(Buffer.concat(rendered.pieces)).toString();
  const series = text.split('\n').filter((line) => line !== '' && !line.startsWith('#')).length;
  const mb = rounded(rendered.length / 1e6);
  return { ...size, series, mb, scrapeCpuMs: least('scrapeCpuMs'), turnCpuMs: least('turnCpuMs') };
}

const MEASUREMENTS: Readonly<Record<string, (size: ClusterSize) => AsyncIterable<object> | Iterable<Promise<object>>>> =
  {
    *operator(size) {
      yield operatorLine(size).then(({ listedMs, listedCpuMs, firstAnswerMs, ...line }) => ({
        ...line,
        listedS: rounded(listedMs / 1_000),
        listedCpuS: rounded(listedCpuMs / 1_000),
        firstAnswerS: rounded(firstAnswerMs / 1_000),
      }));
    },
    disruption: ({ nodes, pods }) => quietPassLines({ nodes, podsPerNode: Math.round(pods / nodes) }),
    turns: turnLines,
    *scrape(size) {
      yield scrapeLine(size);
    },
  };

async function* turnLines(size: ClusterSize): AsyncGenerator<object> {
  for (const path of OBJECT_PATHS) yield await measuredTurn(path);
  yield* clusterLines(size);
}

const sizeOf = (text: string): ClusterSize => {
  const [nodes, pods] = text.split('x').map(Number);
  if (!nodes || !pods) throw new Error(`Cannot measure "${text}": write nodes and pods, such as 5000x50000`);
  return { nodes, pods };
};

const [first = '', size = '', ...others] = process.argv.slice(2);
const measurement = MEASUREMENTS[first];
if (measurement !== undefined) {
  for await (const line of measurement(sizeOf(size))) {
    const { methods: _, ...rest } = line as { readonly methods?: unknown };
    process.stdout.write(`${JSON.stringify({ scale: true, measurement: first, ...rest })}\n`);
  }
  process.exit(); // connections to the benchmark's API server may still be open
}
const run = promisify(execFile);
const sizes = [first, size, ...others].filter((text) => text !== '');
for (const text of sizes.length === 0 ? SIZES : sizes) {
  sizeOf(text);
  for (const name of Object.keys(MEASUREMENTS)) {
    const flags = name === 'scrape' ? imageOptions() : [];
    const argv = ['--expose-gc', ...flags, import.meta.filename, name, text];
    const { stdout } = await run(process.execPath, argv, { maxBuffer: 2 ** 26 });
    process.stdout.write(stdout);
  }
}
