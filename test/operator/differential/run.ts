/**
 * Plays many random clusters: `npm run test:differential -- --count 2000 --seed 1`. Prints each disagreement with its
 * seed, and finally the number of clusters that agreed. `--features volumes,drains` sets the features of every
 * cluster, and `--features small` disables features. Without the option, each cluster has random features. `--worlds 1` plays
 * one cluster at a time.
 */
import { parseArgs } from 'node:util';
import { type Features, featuresNamed, randomCluster } from './clusters.ts';
import { Differential } from './differential.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    features: { type: 'string', default: 'random' },
    worlds: { type: 'string', default: '2' },
  },
});
const [count, first, worlds] = [Number(values.count), Number(values.seed), Number(values.worlds)];
const features: Features = featuresNamed(values.features);
const startedMs = performance.now();
const seeds = Array.from({ length: count }, (_, at) => first + at);
/** Seeds whose world did not settle, for example on a busy machine. They are played once more. */
const repeated = new Set<number>();
let [played, agreed] = [0, 0];
const compared: Record<string, number> = {};

/** Plays clusters in one world until none is left. */
async function playClusters(): Promise<void> {
  let differential = await Differential.start();
  for (let seed = seeds.shift(); seed !== undefined; seed = seeds.shift()) {
    try {
      const differences = await differential.play(randomCluster(seed, features));
      if (differences.length === 0) agreed++;
      else process.stdout.write(`seed ${seed} disagrees:\n${differences.map((text) => `  ${text}\n`).join('')}`);
      if (++played % 50 === 0) process.stdout.write(`${agreed} of ${played} agree, ${seconds()} s\n`);
    } catch (error) {
      await finish(differential);
      differential = await Differential.start();
      if (repeated.has(seed)) process.stdout.write(`seed ${seed} fails: ${(error as Error).message}\n`);
      else seeds.push(seed);
      repeated.add(seed);
    }
  }
  await finish(differential);
}

async function finish(differential: Differential): Promise<void> {
  for (const [kind, number] of Object.entries(differential.compared)) compared[kind] = (compared[kind] ?? 0) + number;
  await differential.stop();
}

// a cluster waits for half of its time, so two worlds use a whole core
await Promise.all(Array.from({ length: worlds }, playClusters));
process.stdout.write(`compared: ${JSON.stringify(compared)}\n`);
process.stdout.write(`${agreed} of ${count} clusters agree, seeds ${first} to ${first + count - 1}, ${seconds()} s\n`);
process.exitCode = agreed === count ? 0 : 1;

function seconds(): number {
  return Math.round((performance.now() - startedMs) / 1000);
}
