/**
 * The benchmarks: `npm run bench [-- WORKLOAD…]`, one JSON line per workload, on one thread but for the operator's and
 * disruption's. Names are beginnings: `diverse`, `packing`, `costs`, `operator`, `disruption`, `day` (half an hour). Any pod of a
 * scheduling workload left pending fails the run. Replays are played when they are named: `replay-month`, `replay-week`, and
 * `days=2` for no more than two days of each.
 */
import { dayLines } from './day/day.ts';
import { disruptionLines, savingsLines } from './disruption.ts';
import { nodeCostLines } from './node-costs.ts';
import { operatorLine } from './operator.ts';
import { packingLines } from './packing.ts';
import { replayLines } from './replay.ts';
import { measure, OPTIONS, WORKLOADS } from './scheduling.ts';

const wanted = process.argv.slice(2);
const isWanted = (workload: string): boolean => wanted.length === 0 || wanted.some((name) => workload.startsWith(name));
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

for (const workload of WORKLOADS) {
  if (!isWanted(workload.name)) continue;
  const { plan, line } = measure(workload);
  print(line);
  const [[pod, refusal] = []] = plan.refusals;
  if (refusal === undefined) continue;
  process.stderr.write(`${workload.name}: ${plan.refusals.size} pods stay pending; ${pod}: ${refusal.text}\n`);
  process.exitCode = 1;
}
if (isWanted('packing')) for await (const line of packingLines(OPTIONS)) print(line);
if (isWanted('costs')) for await (const line of nodeCostLines(OPTIONS)) print(line);
if (isWanted('day')) for await (const line of dayLines()) print(line);
if (isWanted('operator')) print(await operatorLine({ nodes: 5000, pods: 50_000 }));
if (isWanted('disruption')) {
  for await (const line of disruptionLines()) print(line);
  for await (const line of savingsLines()) print(line);
}
if (wanted.some((name) => name.startsWith('replay'))) {
  const days = Number(
    wanted.find((name) => name.startsWith('days='))?.slice('days='.length) ?? Number.POSITIVE_INFINITY,
  );
  for await (const line of replayLines(isWanted, days)) print(line);
}
process.exit(); // connections to the benchmark's API server may still be open
