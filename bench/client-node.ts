/**
 * CPU time of the main thread for a list of 5,000 pods by the typed client of @kubernetes/client-node, by this project's
 * client, and by its informer, which trims the objects: `node bench/client-node.ts`, one JSON line.
 */
import { fork } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { CoreV1Api, KubeConfig } from '@kubernetes/client-node';
import { POD } from '#api/objects';
import { connectReader } from '#kube/connection';
import { startInformers } from '#kube/informers';
import { realClock } from '#lib/clock';
import { silent } from '#observe/logger';
import type { Report } from './servecluster.ts';
import { cpuMs } from './watched.ts';

const NODES = 500;
const PODS = 5_000;
const RUNS = 9;

const cluster = fork(join(import.meta.dirname, 'servecluster.ts'), [String(NODES), String(PODS)]);
const [report] = (await once(cluster, 'message')) as [Report];
if (!('port' in report)) throw new TypeError('the benchmark has no API server');
const url = `http://127.0.0.1:${report.port}`;

const config = new KubeConfig();
config.loadFromClusterAndUser({ name: 'bench', server: url, skipTLSVerify: true }, { name: 'bench' });
const typed = config.makeApiClient(CoreV1Api);
const clock = realClock();
const client = connectReader({ url, clock, log: silent, qps: 10_000, burst: 10_000 });

/** Each lists all pods and returns their number. */
const LISTS = {
  typedMs: async () => (await typed.listPodForAllNamespaces()).items.length,
  listMs: async () => (await client.list(POD)).items.length,
  informerMs: async () => {
    const stop = new AbortController();
    const informers = startInformers({ client, clock, log: silent, signal: stop.signal });
    const store = informers.store(POD);
    await informers.synced();
    stop.abort();
    return store.list().length;
  },
} satisfies Readonly<Record<string, () => Promise<number>>>;

const best = new Map<string, number>();
for (let run = 0; run < RUNS; run += 1)
  for (const [name, list] of Object.entries(LISTS)) {
    const startMs = cpuMs();
    const listed = await list();
    if (listed !== PODS) throw new RangeError(`${name} listed ${listed} pods instead of ${PODS}`);
    best.set(name, Math.min(cpuMs() - startMs, best.get(name) ?? Number.POSITIVE_INFINITY));
  }

const round = (value: number): number => Number(value.toFixed(1));
const list = best.get('listMs') ?? Number.NaN;
const of = (name: string): number => best.get(name) ?? Number.NaN;
const ratios = {
  typedTimesList: round(of('typedMs') / list),
  typedTimesInformer: round(of('typedMs') / of('informerMs')),
};
const measured = Object.fromEntries([...best].map(([name, ms]) => [name, round(ms)]));
process.stdout.write(`${JSON.stringify({ workload: 'client-node', pods: PODS, ...measured, ...ratios })}\n`);
cluster.kill();
process.exit();
