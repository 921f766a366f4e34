/** Generates machine learning work: inference, training for hours that must not be disrupted, and notebooks by day. */
import { WORKING_HOURS } from './calendar.ts';
import { type JobFamily, jobStreams } from './jobs.ts';
import { namespace, type Size } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, within } from './options.ts';
import { Random } from './random.ts';
import { type ServiceCourse, serviceStreams } from './services.ts';

const NAMESPACE = 'ml';
const INFERENCE_SHARE = 0.55;
const TRAINING_SHARE = 0.25;

const gpuSize = (gpus: number, cores: number, gib: number): Size => ({
  cpuMilli: cores * 1000,
  memoryMi: gib * 1024,
  gpus,
});

function modelAt(index: number, { seed }: GeneratorOptions): ServiceCourse {
  const name = `model-${nameAt(index)}`;
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  return {
    shape: {
      namespace: NAMESPACE,
      name,
      size: gpuSize(
        1,
        random.weighted([[2, 1] as const, [3, 2] as const, [6, 1] as const]),
        random.weighted([[10, 2] as const, [14, 2] as const, [24, 1] as const]),
      ),
      graceSeconds: 60,
      ...(random.chance(0.4) ? { spread: 'zone-soft' as const } : {}),
    },
    weight: random.logNormal({ p50: 1, p95: 3 }),
    curve: { peakHour: random.between(12, 20), swing: random.between(0.3, 0.7), weekend: random.between(0.5, 1) },
    least: 1,
    noise: 0.05,
    burstsPerDay: 0.1,
    rolloutsPerWeek: 1,
    ...(random.chance(0.7) ? { maxUnavailable: 1 } : {}),
  };
}

function trainingOf(index: number, { seed }: GeneratorOptions): JobFamily {
  const name = `train-${nameAt(index)}`;
  const random = new Random(seed, `${NAMESPACE}/${name}/family`);
  return {
    namespace: NAMESPACE,
    name,
    weight: random.logNormal({ p50: 1, p95: 2 }),
    curve: { ...WORKING_HOURS, swing: 0.7, weekend: 0.4 },
    sizes: [
      [gpuSize(1, 3, 14), 60],
      [gpuSize(4, 40, 160), 30],
      [gpuSize(8, 80, 320), 10],
    ],
    pods: [
      [1, 75],
      [2, 15],
      [4, 10],
    ],
    runsFor: { p50: 3 * 3_600, p95: 14 * 3_600 },
    doNotDisrupt: true,
  };
}

const NOTEBOOKS: JobFamily = {
  namespace: NAMESPACE,
  name: 'notebook',
  weight: 1,
  curve: { ...WORKING_HOURS, peakHour: 10 },
  sizes: [
    [{ cpuMilli: 2000, memoryMi: 8192 }, 3],
    [{ cpuMilli: 4000, memoryMi: 32768 }, 1],
  ],
  pods: [[1, 1]],
  runsFor: { p50: 4 * 3_600, p95: 9 * 3_600 },
  doNotDisrupt: true,
  isBare: true,
};

/** Number of models among a number of pods. */
const countFor = (pods: number): number => within(Math.round(Math.sqrt(pods) / 1.5), 2, 40);

export const gpuInference = (options: GeneratorOptions): Streams => [
  [{ at: 0, apply: namespace(NAMESPACE) }],
  ...serviceStreams(
    Array.from({ length: countFor(options.pods) }, (_, index) => modelAt(index, options)),
    options,
  ),
];

export function machineLearning(options: GeneratorOptions): Streams {
  const count = countFor(options.pods);
  const several = <T>(make: (index: number, given: GeneratorOptions) => T): readonly T[] =>
    Array.from({ length: count }, (_, index) => make(index, options));
  const share = (part: number): GeneratorOptions => ({ ...options, pods: options.pods * part });
  return [
    [{ at: 0, apply: namespace(NAMESPACE) }],
    ...serviceStreams(several(modelAt), share(INFERENCE_SHARE)),
    ...jobStreams(several(trainingOf), share(TRAINING_SHARE)),
    ...jobStreams([NOTEBOOKS], share(1 - INFERENCE_SHARE - TRAINING_SHARE)),
  ];
}
