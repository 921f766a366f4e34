/**
 * The benchmarks: `npm run bench [-- WORKLOAD…]` prints one JSON line per workload, on one thread except for the
 * operator and disruption. Names are prefixes: `diverse`, `packing`, `costs`, `devices`, `gangs`, `operator`, `disruption`,
 * `idle`, `day` (half an hour). The run fails if any pod of a scheduling workload stays pending. Replays run only if they
 * are named: `replay-month`, `replay-week`, and `days=2` for at most two days of each. `life` compares settings in kinds of
 * clusters, and `clairvoyant` compares them with policies that know the future; `repack` searches for moves of many nodes.
 * See `life/life.ts`, `clairvoyant/clairvoyant.ts` and `repack.ts` for the options.
 */
const wanted = process.argv.slice(2);
const isWanted = (workload: string): boolean => wanted.length === 0 || wanted.some((name) => workload.startsWith(name));
const print = (line: object): void => void process.stdout.write(`${JSON.stringify(line)}\n`);

if (wanted[0] === 'life') await lives();
else if (wanted[0] === 'clairvoyant')
  await (await import('./clairvoyant/clairvoyant.ts')).clairvoyantBenchmark(wanted.slice(1));
else if (wanted[0] === 'repack')
  for await (const line of (await import('./repack.ts')).repackLines(wanted.slice(1))) print(line);
else if (wanted.some((name) => name.startsWith('replay'))) await replays();
else await others();
process.exit(); // connections to the benchmark's API server may still be open

async function lives(): Promise<void> {
  const { lifeBenchmark } = await import('./life/life.ts');
  const onProgress = (text: string): void => void process.stderr.write(`${text}\n`);
  process.stdout.write(`${await lifeBenchmark(wanted.slice(1), undefined, onProgress)}\n`);
}

/** Runs replays in separate processes, because memory is measured per process. */
async function replays(): Promise<void> {
  const { replayLines } = await import('./replay.ts');
  const days = Number(
    wanted.find((name) => name.startsWith('days='))?.slice('days='.length) ?? Number.POSITIVE_INFINITY,
  );
  for await (const line of replayLines(isWanted, days)) print(line);
}

async function others(): Promise<void> {
  const { measure, OPTIONS, WORKLOADS } = await import('./scheduling.ts');
  for (const workload of WORKLOADS) {
    if (!isWanted(workload.name)) continue;
    const { plan, line } = measure(workload);
    print(line);
    const [[pod, refusal] = []] = plan.refusals;
    if (refusal === undefined) continue;
    process.stderr.write(`${workload.name}: ${plan.refusals.size} pods stay pending; ${pod}: ${refusal.text}\n`);
    process.exitCode = 1;
  }
  const { packingLines } = await import('./packing.ts');
  if (isWanted('packing')) for await (const line of packingLines(OPTIONS)) print(line);
  const { nodeCostLines } = await import('./node-costs.ts');
  if (isWanted('costs')) for await (const line of nodeCostLines(OPTIONS)) print(line);
  const { preferenceLines } = await import('./preferences.ts');
  for (const line of preferenceLines(OPTIONS, isWanted)) print(line);
  const { wideLines } = await import('./wide.ts');
  for await (const line of wideLines(OPTIONS, isWanted)) print(line);
  const { deviceLines } = await import('./devices.ts');
  for await (const line of deviceLines(OPTIONS, isWanted)) print(line);
  const { gangLines } = await import('./gangs.ts');
  for (const line of gangLines(OPTIONS, isWanted)) print(line);
  const { dayLines } = await import('./day/day.ts');
  for await (const line of dayLines(isWanted)) print(line);
  const { operatorLine } = await import('./operator.ts');
  if (isWanted('operator')) print(await operatorLine({ nodes: 5000, pods: 50_000 }));
  const { disruptionLines, savingsLines } = await import('./disruption.ts');
  if (!isWanted('disruption')) return;
  for await (const line of disruptionLines()) print(line);
  for await (const line of savingsLines()) print(line);
}
