/**
 * Load of the live page on the main thread: `node bench/live-page.ts [nodes] [podsPerNode] [clients] [seconds]`
 * prints the utilization of the event loop, and the CPU time of the main thread per second. Clients reconnect as soon
 * as they have the state, and search without a pause.
 */
import { once } from 'node:events';
import { performance } from 'node:perf_hooks';
import { setTimeout as pause } from 'node:timers/promises';
import { Worker } from 'node:worker_threads';
import { realClock } from '#lib/clock';
import { openLive } from '#live/page';
import { silent } from '#observe/logger';
import { createMetrics } from '#observe/setup';
import { LiveCluster } from '../test/unit/live/live-cluster.ts';

const [nodes = 5_000, podsPerNode = 20, clients = 19, seconds = 15] = process.argv.slice(2).map(Number);
/** Pods that change their node per second. */
const CHANGES = 20;
const SETTLE_MS = 3_000;

/** Runs in a separate thread, so that the work of clients is not measured. */
const CLIENT = `
const { get } = require('node:http');
const { parentPort, workerData: { url, path, clients, stays } } = require('node:worker_threads');
const counts = { requests: 0, refused: 0 };
let isOver = false;
function connect(at) {
  if (isOver) return;
  const again = () => setImmediate(connect, at);
  counts.requests += 1;
  const request = get(url + path.replace('AT', at + '-' + counts.requests), { agent: false }, (response) => {
    if (response.statusCode !== 200) counts.refused += 1;
    let tail = '';
    response.setEncoding('latin1').on('data', (text) => {
      tail = (tail + text).slice(-2);
      if (!stays && tail === '\\n\\n' && path.includes('events')) request.destroy();
    });
  });
  request.on('error', () => undefined).on('close', again);
}
for (let at = 0; at < clients; at += 1) connect(at);
parentPort.once('message', () => { isOver = true; parentPort.postMessage(counts); setTimeout(() => process.exit(), 100); });
`;

const live = new LiveCluster();
live.fill(nodes, podsPerNode, 200);
const closing = new AbortController();
const page = await openLive({
  ...live.sources,
  clock: realClock(),
  address: { host: '127.0.0.1', port: 0 },
  token: '',
  log: silent,
  metrics: createMetrics(),
  signal: closing.signal,
});
let changed = 0;
const changing = setInterval(() => {
  for (let pod = 0; pod < CHANGES; pod += 1, changed += 1)
    live.pod(`pod-${changed % nodes}-0`, `node-${(changed * 7) % nodes}.internal`);
}, 1_000);

async function measure(what: string, path: string, count: number, stays = false): Promise<void> {
  const workerData = { url: page.url.slice(0, -1), path, clients: count, stays };
  const worker = new Worker(CLIENT, { eval: true, workerData });
  await pause(SETTLE_MS);
  const before = performance.eventLoopUtilization();
  const cpu = process.threadCpuUsage();
  await pause(1_000 * seconds);
  const { utilization } = performance.eventLoopUtilization(before);
  const { user, system } = process.threadCpuUsage(cpu);
  worker.postMessage('end');
  const [counts] = await once(worker, 'message');
  await worker.terminate();
  const line = { what, nodes, pods: nodes * podsPerNode, clients: count, utilization, ...counts };
  process.stdout.write(`${JSON.stringify({ ...line, cpu: (user + system) / 1e6 / seconds })}\n`);
}

await measure('one watcher', '/api/events', 1, true);
await measure('reconnecting', '/api/events', clients);
await measure('searching', '/api/search?q=no-such-pod-AT', clients);
await measure('searching for the same', '/api/search?q=no-such-pod', clients);
clearInterval(changing);
closing.abort();
await page.close();
process.exit();
