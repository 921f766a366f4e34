/** Generates batch work: bursts of continuous integration in working hours, and Jobs of all sizes around the clock. */
import { type Curve, WORKING_HOURS } from './calendar.ts';
import { type JobFamily, jobStreams } from './jobs.ts';
import { namespace, type Size, sizeOf } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, within } from './options.ts';
import { Random } from './random.ts';

const CI = 'ci';
const BATCH = 'batch';
/** Share of the pods that belong to continuous integration. */
const CI_SHARE = 0.5;

const BURSTS: JobFamily['pods'] = [
  [4, 40],
  [16, 40],
  [40, 20],
];

const AROUND_THE_CLOCK: Curve = { peakHour: 3, swing: 0.25, weekend: 0.9 };

function sizesOf(random: Random, cpus: readonly number[], gibPerCore: number): readonly (readonly [Size, number])[] {
  return cpus.map((cpuMilli, index) => [sizeOf(random, cpuMilli, gibPerCore), cpus.length - index] as const);
}

function ciTeam(index: number, { seed }: GeneratorOptions): JobFamily {
  const name = `build-${nameAt(index)}`;
  const random = new Random(seed, `${CI}/${name}/family`);
  return {
    namespace: CI,
    name,
    weight: random.logNormal({ p50: 1, p95: 3 }),
    curve: { ...WORKING_HOURS, peakHour: random.between(11, 16) },
    sizes: sizesOf(random, random.chance(0.5) ? [2000, 4000, 1000] : [1000, 2000], 2.5),
    pods: [
      [1, 40],
      [4, 25],
      [8, 20],
      [16, 15],
    ],
    runsFor: { p50: random.between(150, 420), p95: random.between(900, 1_800) },
    doNotDisrupt: random.chance(0.6),
  };
}

function batchQueue(index: number, { seed }: GeneratorOptions): JobFamily {
  const name = `queue-${nameAt(index)}`;
  const random = new Random(seed, `${BATCH}/${name}/family`);
  return {
    namespace: BATCH,
    name,
    weight: random.logNormal({ p50: 1, p95: 3 }),
    curve: { ...AROUND_THE_CLOCK, peakHour: random.between(0, 24) },
    sizes: sizesOf(
      random,
      [1000, 500, 2000, 4000],
      random.weighted([[2, 1] as const, [4, 2] as const, [8, 1] as const]),
    ),
    pods: [
      [1, 30],
      [5, 25],
      [10, 20],
      [25, 15],
      [50, 10],
    ],
    runsFor: { p50: random.between(300, 1_200), p95: random.between(2_400, 7_200) },
    doNotDisrupt: random.chance(0.3),
  };
}

/** Bursts of builds, which have no other load beside them. */
export function ciBursts(options: GeneratorOptions): Streams {
  const count = within(Math.round(Math.sqrt(options.pods) / 2), 2, 40);
  const teams = Array.from({ length: count }, (_, index) => ({ ...ciTeam(index, options), pods: BURSTS }));
  return [[{ at: 0, apply: namespace(CI) }], ...jobStreams(teams, options)];
}

export function batch(options: GeneratorOptions): Streams {
  const count = within(Math.round(Math.sqrt(options.pods) / 2), 2, 40);
  const families = (make: typeof ciTeam) => Array.from({ length: count }, (_, index) => make(index, options));
  return [
    [
      { at: 0, apply: namespace(CI) },
      { at: 0, apply: namespace(BATCH) },
    ],
    ...jobStreams(families(ciTeam), { ...options, pods: options.pods * CI_SHARE }),
    ...jobStreams(families(batchQueue), { ...options, pods: options.pods * (1 - CI_SHARE) }),
  ];
}
