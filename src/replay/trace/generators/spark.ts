/** Generates Spark applications: a driver that must not be disrupted, and stages of many executors with much memory. */
import type { TraceEvent } from '../trace.ts';
import { job, namespace, type Size } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, tenths } from './options.ts';
import { meanOf, Random } from './random.ts';

const NAMESPACE = 'spark';
/** Average number of running pods of one team, whose applications run one after the other. */
const PODS_OF_TEAM = 5;
const STAGES = [2, 3, 4] as const;
const EXECUTORS: readonly (readonly [executors: number, weight: number])[] = [
  [4, 30],
  [8, 40],
  [16, 20],
  [32, 10],
];
const MEAN_EXECUTORS = 10.8;
const STAGE_SECONDS = { p50: 300, p95: 1_200 };
const DRIVER: Size = { cpuMilli: 1000, memoryMi: 4096 };
const SIZES: readonly (readonly [size: Size, weight: number])[] = [
  [{ cpuMilli: 2000, memoryMi: 8 * 1024 }, 2],
  [{ cpuMilli: 4000, memoryMi: 16 * 1024 }, 2],
  [{ cpuMilli: 4000, memoryMi: 28 * 1024 }, 1],
];

/** @param pods average number of running pods of this team */
function* applications(team: string, options: GeneratorOptions, pods: number): Generator<TraceEvent> {
  const random = new Random(options.seed, `${NAMESPACE}/${team}`);
  const meanSeconds = 3 * meanOf(STAGE_SECONDS);
  const meanGap = meanSeconds * Math.max(0.1, (MEAN_EXECUTORS + 1) / pods - 1);
  let at = random.between(0, meanGap);
  for (let number = 1; at < options.seconds; number += 1) {
    const size = random.weighted(SIZES);
    const stages = Array.from({ length: random.weighted(STAGES.map((each) => [each, 1] as const)) }, () => ({
      executors: random.weighted(EXECUTORS),
      seconds: Math.max(30, Math.round(random.logNormal(STAGE_SECONDS))),
    }));
    const name = `${team}-${number}`;
    const seconds = stages.reduce((sum, stage) => sum + stage.seconds, 0);
    const driver = { namespace: NAMESPACE, name: `${name}-driver`, size: DRIVER, doNotDisrupt: true };
    yield { at: tenths(at), apply: job(driver, 1), runsFor: seconds };
    for (const [index, stage] of stages.entries()) {
      if (at >= options.seconds) return;
      const shape = { namespace: NAMESPACE, name: `${name}-stage-${index + 1}`, size };
      yield { at: tenths(at), apply: job(shape, stage.executors), runsFor: stage.seconds };
      at += stage.seconds;
    }
    at += random.exponential(meanGap);
  }
}

export function spark(options: GeneratorOptions): Streams {
  const teams = Math.max(1, Math.ceil(options.pods / PODS_OF_TEAM));
  return [
    [{ at: 0, apply: namespace(NAMESPACE) }],
    ...Array.from({ length: teams }, (_, index) => ({
      [Symbol.iterator]: () => applications(nameAt(index), options, options.pods / teams),
    })),
  ];
}
