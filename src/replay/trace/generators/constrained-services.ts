/** Generates services that are difficult to move: by their budgets, sizes, volumes, anti-affinity or start-up times. */
import type { Curve } from './calendar.ts';
import { namespace, type PodShape, roundedMi } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, within } from './options.ts';
import { Random } from './random.ts';
import { type ServiceCourse, serviceStreams } from './services.ts';

const NAMESPACE = 'services';

interface Constraints {
  /** Average number of pods of one service. */
  readonly podsOfService: number;
  readonly cpuMilli: readonly number[];
  readonly gibPerCore: readonly [least: number, most: number];
  readonly least?: number;
  readonly rolloutsPerWeek?: number;
  shape?(random: Random): Partial<PodShape>;
  more?(random: Random): Partial<ServiceCourse>;
}

function serviceAt(index: number, { seed }: GeneratorOptions, constraints: Constraints): ServiceCourse {
  const { cpuMilli: sizes, gibPerCore, least = 1, rolloutsPerWeek = 0, shape, more } = constraints;
  const name = nameAt(index);
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  const cpuMilli = random.weighted(sizes.map((each) => [each, 1] as const));
  const memoryMi = roundedMi(cpuMilli * 1.024 * random.between(...gibPerCore));
  return {
    shape: { namespace: NAMESPACE, name, size: { cpuMilli, memoryMi }, ...shape?.(random) },
    weight: random.between(0.5, 1.5),
    curve: dayCurve(random),
    least,
    noise: 0.06,
    burstsPerDay: 0.5,
    rolloutsPerWeek: rolloutsPerWeek * random.between(0.5, 1.5),
    ...more?.(random),
  };
}

const dayCurve = (random: Random): Curve => ({
  peakHour: random.between(12, 18),
  swing: random.between(0.4, 0.8),
  steepness: 2,
  weekend: random.between(0.5, 1),
});

const servicesWith =
  (constraints: Constraints) =>
  (options: GeneratorOptions): Streams => {
    const count = within(Math.round(options.pods / constraints.podsOfService), 2, 400);
    const all = Array.from({ length: count }, (_, index) => serviceAt(index, options, constraints));
    return [[{ at: 0, apply: namespace(NAMESPACE) }], ...serviceStreams(all, options)];
  };

/** A third of the budgets never allow an eviction. */
export const rollingUpdates = servicesWith({
  podsOfService: 5,
  cpuMilli: [250, 500, 1000, 2000],
  gibPerCore: [2, 4],
  least: 2,
  rolloutsPerWeek: 56,
  more: (random) => ({
    maxUnavailable: random.weighted<number | string>([
      [0, 3],
      [1, 3],
      ['25%', 3],
    ]),
  }),
});

export const onePerNode = servicesWith({
  podsOfService: 5,
  cpuMilli: [500, 1000, 1500, 3000],
  gibPerCore: [1, 4],
  shape: () => ({ isAlone: true }),
});

/** Spread is a preference: over hosts for three of four services, over zones for the rest. */
export const softSpread = servicesWith({
  podsOfService: 6,
  cpuMilli: [100, 250, 500, 1000],
  gibPerCore: [1, 4],
  least: 2,
  rolloutsPerWeek: 7,
  shape: (random) => ({
    spread: random.weighted<'host' | 'zone-soft'>([
      ['host', 3],
      ['zone-soft', 1],
    ]),
  }),
});

export const largePods = servicesWith({
  podsOfService: 3,
  cpuMilli: [5000, 7000, 9000, 12000],
  gibPerCore: [2, 6],
});

export const zonalState = servicesWith({
  podsOfService: 4,
  cpuMilli: [500, 1000, 2000],
  gibPerCore: [4, 8],
  least: 2,
  shape: () => ({ spread: 'zone-soft', graceSeconds: 60 }),
  more: (random) => ({ maxUnavailable: 1, volumeGi: random.weighted([[20, 3] as const, [100, 2] as const]) }),
});

export const slowStart = servicesWith({
  podsOfService: 5,
  cpuMilli: [500, 1000, 2000],
  gibPerCore: [2, 4],
  rolloutsPerWeek: 7,
  shape: (random) => ({ startSeconds: random.whole(180, 600) }),
  more: (random) => (random.chance(0.5) ? { maxUnavailable: 1 } : {}),
});
