/** Generates web services: Deployments that follow the day and the week, their rollouts, and some StatefulSets. */
import { disruptionBudget, namespace, type PodShape, sizeOf, statefulSet } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, within } from './options.ts';
import { Random } from './random.ts';
import { type ServiceCourse, serviceStreams } from './services.ts';

const NAMESPACE = 'web';
/** Share of the pods that are databases, caches and queues. */
const STATEFUL_SHARE = 0.06;
/** Minimum number of pods for StatefulSets. Smaller clusters store their data elsewhere. */
const LEAST_FOR_STATE = 40;

/** Parameters that differ between the usual web service and the benchmark. */
export interface WebTuning {
  readonly noise: number;
  readonly burstsPerDay: number;
  readonly rolloutsPerWeek: number;
}

const USUAL: WebTuning = { noise: 0.06, burstsPerDay: 0.15, rolloutsPerWeek: 3 };

const CPU_MILLI: readonly (readonly [number, number])[] = [
  [100, 15],
  [250, 25],
  [500, 28],
  [1000, 20],
  [2000, 9],
  [4000, 3],
];

function serviceAt(index: number, { seed }: GeneratorOptions, tuning: WebTuning): ServiceCourse {
  const name = nameAt(index);
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  const size = sizeOf(
    random,
    random.weighted(CPU_MILLI),
    random.weighted([[1.5, 2] as const, [2.5, 4] as const, [4, 3] as const]),
  );
  const spread = random.weighted<NonNullable<PodShape['spread']> | 'none'>([
    ['zone-hard', 25],
    ['zone-soft', 35],
    ['host', 15],
    ['none', 25],
  ]);
  const isWatched = random.chance(0.6);
  return {
    shape: {
      namespace: NAMESPACE,
      name,
      size,
      ...(spread === 'none' ? {} : { spread }),
      ...(random.chance(0.1) ? { doNotDisrupt: true } : {}),
    },
    // a few services have most of the pods
    weight: random.logNormal({ p50: 1, p95: 4 }),
    curve: {
      peakHour: random.between(12, 20),
      swing: random.between(0.25, 0.75),
      weekend: random.between(0.5, 1),
    },
    least: random.chance(0.7) ? 2 : 1,
    noise: tuning.noise * random.between(0.5, 1.5),
    burstsPerDay: tuning.burstsPerDay,
    rolloutsPerWeek: tuning.rolloutsPerWeek * random.between(0.3, 1.7),
    ...(isWatched
      ? {
          maxUnavailable: random.weighted<number | string>([
            ['25%', 3],
            ['10%', 2],
            [1, 2],
          ]),
        }
      : {}),
  };
}

function stateStreams(options: GeneratorOptions): Streams {
  const random = new Random(options.seed, `${NAMESPACE}/state`);
  const streams: Streams[number][] = [];
  for (let left = Math.round(options.pods), index = 1; left > 0; index += 1) {
    const replicas = Math.min(
      left,
      random.weighted([[3, 5] as const, [5, 2] as const, [6, 2] as const, [1, 1] as const]),
    );
    left -= replicas;
    const cpuMilli = random.weighted([[500, 2] as const, [1000, 3] as const, [2000, 2] as const]);
    const shape: PodShape = {
      namespace: NAMESPACE,
      name: `store-${index}`,
      size: sizeOf(random, cpuMilli, 6),
      spread: 'zone-soft',
      graceSeconds: 60,
    };
    const volumeGi = random.weighted([[20, 3] as const, [100, 2] as const, [500, 1] as const]);
    streams.push([
      { at: 0, apply: disruptionBudget(shape, 1) },
      { at: 0, apply: statefulSet(shape, replicas, volumeGi) },
    ]);
  }
  return streams;
}

export function webService(options: GeneratorOptions, tuning: WebTuning = USUAL): Streams {
  const stateful = options.pods < LEAST_FOR_STATE ? 0 : Math.round(options.pods * STATEFUL_SHARE);
  const pods = options.pods - stateful;
  const services = Array.from({ length: within(Math.round(1.2 * Math.sqrt(pods)), 3, 400) }, (_, index) =>
    serviceAt(index, options, tuning),
  );
  return [
    [{ at: 0, apply: namespace(NAMESPACE) }],
    ...stateStreams({ ...options, pods: stateful }),
    ...serviceStreams(services, { ...options, pods }),
  ];
}
