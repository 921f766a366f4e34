/** Generates loads that appear for a short time: Jobs on the hour and at night, and services that are scaled to zero. */
import type { TraceEvent } from '../trace.ts';
import { DAY, HOUR, type Levels } from './calendar.ts';
import { job, namespace, roundedMi, type Size } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, tenths, within } from './options.ts';
import { Random } from './random.ts';
import { type ServiceCourse, serviceStreams } from './services.ts';

const NAMESPACE = 'spikes';
/** Average number of pods of one service. */
const PODS_OF_SERVICE = 4;
const FLAT: Levels = { levels: [[0, 1]], weekend: 1 };

const sizeFrom = (random: Random, cpuMilli: readonly number[], gibPerCore: number): Size => {
  const cpu = random.weighted(cpuMilli.map((each) => [each, 1] as const));
  return { cpuMilli: cpu, memoryMi: roundedMi(cpu * gibPerCore * 1.024) };
};

function serviceAt(index: number, { seed }: GeneratorOptions, curveFor: (random: Random) => Levels): ServiceCourse {
  const name = nameAt(index);
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  return {
    shape: { namespace: NAMESPACE, name, size: sizeFrom(random, [250, 500, 1000], random.between(2, 4)) },
    weight: random.between(0.5, 1.5),
    curve: curveFor(random),
    least: 0,
    noise: 0.05,
    burstsPerDay: 0,
    rolloutsPerWeek: 0,
  };
}

function services(options: GeneratorOptions, curveFor: (random: Random) => Levels): Streams {
  const count = within(Math.round(options.pods / PODS_OF_SERVICE), 3, 400);
  const all = Array.from({ length: count }, (_, index) => serviceAt(index, options, curveFor));
  return [[{ at: 0, apply: namespace(NAMESPACE) }], ...serviceStreams(all, options)];
}

interface Spikes {
  readonly name: string;
  readonly everySeconds: number;
  /** Seconds from midnight or from the full hour. */
  readonly phase: number;
  /** Seconds in which the Jobs of one spike are created. */
  readonly within: number;
  readonly jobs: number;
  /** Part of the average number of pods. */
  readonly share: number;
  readonly runsFor: readonly [least: number, most: number];
}

const HOURLY: Spikes = {
  name: 'hourly',
  everySeconds: HOUR,
  phase: 0,
  within: 20,
  jobs: 6,
  share: 0.4,
  runsFor: [480, 900],
};
const NIGHTLY: Spikes = {
  name: 'nightly',
  everySeconds: DAY,
  phase: HOUR,
  within: 600,
  jobs: 12,
  share: 0.3,
  runsFor: [1_200, 5_400],
};

/** Yields one Job of each spike, with an equal number of pods each time. */
function* jobsOf(spikes: Spikes, options: GeneratorOptions, index: number): Generator<TraceEvent> {
  const { name, everySeconds, phase, jobs, share, runsFor } = spikes;
  const random = new Random(options.seed, `${NAMESPACE}/${name}-${index}`);
  const size = sizeFrom(random, [500, 1000, 2000], random.between(2, 6));
  const pods = Math.max(1, Math.round((options.pods * share * everySeconds) / ((runsFor[0] + runsFor[1]) / 2) / jobs));
  const first = (everySeconds - ((options.startMs / 1000) % everySeconds)) % everySeconds;
  for (let number = 1, time = first; ; number += 1, time += everySeconds) {
    const at = time + phase + random.between(0, spikes.within);
    if (at >= options.seconds) return;
    const shape = { namespace: NAMESPACE, name: `${name}-${nameAt(index)}-${number}`, size };
    yield { at: tenths(at), apply: job(shape, pods), runsFor: random.whole(...runsFor) };
  }
}

const spikesBeside = (spikes: Spikes, options: GeneratorOptions): Streams => [
  ...services({ ...options, pods: options.pods * (1 - spikes.share) }, () => FLAT),
  ...Array.from({ length: spikes.jobs }, (_, index) => ({
    [Symbol.iterator]: () => jobsOf(spikes, options, index),
  })),
];

export const hourlySpikes = (options: GeneratorOptions): Streams => spikesBeside(HOURLY, options);
export const nightlySpikes = (options: GeneratorOptions): Streams => spikesBeside(NIGHTLY, options);

/** Returns hours of activity between seven in the morning and eleven in the evening. At other times, the load is zero. */
function activeHours(random: Random): Levels {
  const levels: (readonly [hour: number, load: number])[] = [[0, 0]];
  for (let hour = 7 + random.between(0, 2); ; hour += random.between(1, 3)) {
    const end = hour + random.between(0.3, 1);
    if (end > 23) return { levels, weekend: 1 };
    levels.push([hour - 0.02, 0], [hour, 1], [end, 1], [end + 0.02, 0]);
    hour = end + 0.1;
  }
}

export const scaleToZero = (options: GeneratorOptions): Streams => services(options, activeHours);
