/**
 * Plays many random clusters: `npm run test:differential -- --count 2000 --seed 1`. Prints each disagreement with its
 * seed, and finally the number of clusters that agreed. `--features volumes,drains` sets the features of every
 * cluster, and `--features small` disables features. Without the option, each cluster has random features.
 */
import { parseArgs } from 'node:util';
import { type Features, featuresNamed, randomCluster } from './clusters.ts';
import { Differential } from './differential.ts';

const { values } = parseArgs({
  options: {
    count: { type: 'string', default: '100' },
    seed: { type: 'string', default: '1' },
    features: { type: 'string', default: 'random' },
  },
});
const [count, first] = [Number(values.count), Number(values.seed)];
const features: Features = featuresNamed(values.features);
const startedMs = performance.now();
let agreed = 0;
let differential = await Differential.start();
for (let seed = first; seed < first + count; seed++) {
  try {
    const differences = await differential.play(randomCluster(seed, features));
    if (differences.length === 0) agreed++;
    else process.stdout.write(`seed ${seed} disagrees:\n${differences.map((text) => `  ${text}\n`).join('')}`);
  } catch (error) {
    process.stdout.write(`seed ${seed} fails: ${(error as Error).message}\n`);
    await differential.stop();
    differential = await Differential.start();
  }
  const played = seed - first + 1;
  if (played % 50 === 0) process.stdout.write(`${agreed} of ${played} agree, ${seconds()} s\n`);
}
await differential.stop();
process.stdout.write(`compared since the world was last started: ${JSON.stringify(differential.compared)}\n`);
process.stdout.write(`${agreed} of ${count} clusters agree, seeds ${first} to ${first + count - 1}, ${seconds()} s\n`);
process.exitCode = agreed === count ? 0 : 1;

function seconds(): number {
  return Math.round((performance.now() - startedMs) / 1000);
}
