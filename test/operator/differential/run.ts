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
let [next, played, agreed] = [first, 0, 0];
const compared: Record<string, number> = {};

/** Plays clusters in one world until none is left. A cluster waits for half of its time, so two worlds use a whole core. */
async function playClusters(): Promise<void> {
  let differential = await Differential.start();
  while (next < first + count) {
    const seed = next++;
    try {
      const differences = await differential.play(randomCluster(seed, features));
      if (differences.length === 0) agreed++;
      else process.stdout.write(`seed ${seed} disagrees:\n${differences.map((text) => `  ${text}\n`).join('')}`);
    } catch (error) {
      process.stdout.write(`seed ${seed} fails: ${(error as Error).message}\n`);
      await finish(differential);
      differential = await Differential.start();
    }
    played++;
    if (played % 50 === 0) process.stdout.write(`${agreed} of ${played} agree, ${seconds()} s\n`);
  }
  await finish(differential);
}

async function finish(differential: Differential): Promise<void> {
  for (const [kind, number] of Object.entries(differential.compared)) compared[kind] = (compared[kind] ?? 0) + number;
  await differential.stop();
}

await Promise.all(Array.from({ length: worlds }, playClusters));
process.stdout.write(`compared: ${JSON.stringify(compared)}\n`);
process.stdout.write(`${agreed} of ${count} clusters agree, seeds ${first} to ${first + count - 1}, ${seconds()} s\n`);
process.exitCode = agreed === count ? 0 : 1;

function seconds(): number {
  return Math.round((performance.now() - startedMs) / 1000);
}
