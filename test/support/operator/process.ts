/** The operator in a separate process with its engine threads, on the clock of its parent. */
import type { Worker } from 'node:worker_threads';
import { configureAws } from '#aws/provider';
import { parseAwsSettings } from '#aws/settings';
import { type Solver, Suspects, WorkerSimulationRunner, WorkerSolver } from '#engine-worker';
import { realClock } from '#lib/clock';
import { errorText } from '#observe/logger';
import { watchProcess } from '#process/memory';
import { type Operator, startOperator } from '../../../src/main.ts';
import { followingClock } from '../paced-clock.ts';
import { skewedClock } from '../skewed-clock.ts';
import type { FromOperator, ToOperator } from './messages.ts';

const tell = (message: FromOperator): void => void process.send?.(message);

const workers = new Set<Worker>();
process.on('worker', (worker) => {
  workers.add(worker);
  worker.once('exit', () => workers.delete(worker));
});
const heapsOfThreads = (): Promise<readonly number[]> =>
  Promise.all([...workers].map(async (worker) => (await worker.getHeapStatistics()).used_heap_size));

let operator: Operator | undefined;
const clock = followingClock(Number(process.env.CLOCK_START_MS));

process.on('message', (message: ToOperator) => {
  if (message.kind === 'time')
    return void clock.follow(message.nowMs).then((waitedMs) => tell({ kind: 'time', waitedMs }));
  if (message.kind === 'memory') {
    globalThis.gc?.();
    const { rss, heapUsed } = process.memoryUsage();
    if (process.env.HOSTILE_TIMES)
      console.error('operator cpu', process.cpuUsage(), performance.eventLoopUtilization());
    return void heapsOfThreads().then((threads) => tell({ kind: 'memory', rss, heapUsed, threads }));
  }
  return void operator?.stop();
});
// Without its parent, the process has no clock.
process.once('disconnect', () => process.exit(2));

/** Like `main` in src/main.ts, except that time runs no faster than real time while an engine thread computes. */
async function start(): Promise<Operator> {
  const argv = process.argv.slice(2);
  const { workerLimits, start: report } = watchProcess(parseAwsSettings(argv, process.env).memoryLimit);
  const limits = { resourceLimits: workerLimits, suspects: new Suspects(realClock()) };
  const solver = new WorkerSolver(limits);
  const { solve } = solver;
  const simulations = new WorkerSimulationRunner(limits);
  const timedSolve: Solver = (snapshot, options) => clock.computing(solve(snapshot, options));
  const started = await startOperator({
    configureProvider: configureAws,
    argv,
    env: process.env,
    clock: skewedClock(clock, Number(process.env.CLOCK_SKEW_MS ?? 0)),
    solver: Object.assign(timedSolve, { reportTo: solve.reportTo, check: solve.check, holdOf: solve.holdOf }),
    simulations: {
      reportTo: (reports) => simulations.reportTo(reports),
      check: () => simulations.check(),
      simulate: (...question) => clock.computing(simulations.simulate(...question)),
      emptiable: (...question) => clock.computing(simulations.emptiable(...question)),
      decide: (...question) => clock.computing(simulations.decide(...question)),
    },
  });
  report(started, { clock, workers: [solver, simulations] });
  return started;
}

operator = await start().catch((error: unknown) => {
  process.stderr.write(`Cannot start: ${errorText(error)}\n`);
  return process.exit(1);
});
tell({ kind: 'started', metricsPort: operator.metricsPort, healthProbePort: operator.healthProbePort });
process.exit((await operator.done) === 'stopped' ? 0 : 3);
