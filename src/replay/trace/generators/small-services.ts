/** Generates small services that have a steep wave every evening, and small services with a Job every hour. */
import type { TraceEvent } from '../trace.ts';
import { HOUR, type Levels } from './calendar.ts';
import { job, namespace, roundedMi } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, tenths, within } from './options.ts';
import { Random } from './random.ts';
import { type ServiceCourse, serviceStreams } from './services.ts';

const NAMESPACE = 'apps';
/** Average number of pods of one service. */
const PODS_OF_SERVICE = 4;
/** Hours between the beginnings of the waves of different services. */
const SHIFT_HOURS = 0.25;

/** Daily wave: from five to seven in the evening, the load is higher by a factor. */
const eveningLevels = (random: Random, factor: number): Levels => {
  const shift = random.between(-SHIFT_HOURS, SHIFT_HOURS);
  return {
    levels: [
      [16 + shift, 1],
      [17 + shift, factor],
      [19 + shift, factor],
      [20 + shift, 1],
    ],
    weekend: 1,
  };
};

interface Sizes {
  readonly cpuMilli: readonly [least: number, most: number];
  /** Highest load, in proportion to the lowest load. */
  readonly factor: number;
}

function serviceAt(
  index: number,
  { seed }: GeneratorOptions,
  { cpuMilli: [least, most], factor }: Sizes,
): ServiceCourse {
  const name = nameAt(index);
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  const cpuMilli = 10 * random.whole(least / 10, most / 10);
  return {
    shape: { namespace: NAMESPACE, name, size: { cpuMilli, memoryMi: roundedMi(cpuMilli * random.between(1, 4)) } },
    weight: random.between(0.5, 1.5),
    curve: eveningLevels(random, factor),
    least: 1,
    noise: 0.03,
    burstsPerDay: 0,
    rolloutsPerWeek: 0,
  };
}

function services(options: GeneratorOptions, sizes: Sizes): Streams {
  const count = within(Math.round(options.pods / PODS_OF_SERVICE), 3, 400);
  const all = Array.from({ length: count }, (_, index) => serviceAt(index, options, sizes));
  return [[{ at: 0, apply: namespace(NAMESPACE) }], ...serviceStreams(all, options)];
}

export const smallServices = (options: GeneratorOptions): Streams =>
  services(options, { cpuMilli: [50, 200], factor: 208 / 64 });

const HOURLY_PODS = 3;
/** Pods of services for each Job. */
const PODS_PER_JOB = 40;

function* hourlyJobs(options: GeneratorOptions, index: number): Generator<TraceEvent> {
  const random = new Random(options.seed, `${NAMESPACE}/hourly-${index}`);
  const minute = random.whole(0, 59);
  const cpuMilli = 100 * random.whole(2, 8);
  const size = { cpuMilli, memoryMi: roundedMi(cpuMilli * 2) };
  for (let hour = 0; ; hour += 1) {
    const at = hour * HOUR + minute * 60 + random.between(0, 30);
    if (at >= options.seconds) return;
    const shape = { namespace: NAMESPACE, name: `report-${index}-${hour}`, size };
    yield { at: tenths(at), apply: job(shape, HOURLY_PODS), runsFor: random.whole(240, 600) };
  }
}

export function leftoverServices(options: GeneratorOptions): Streams {
  const count = within(Math.round(options.pods / PODS_PER_JOB), 1, 100);
  const jobs = Array.from({ length: count }, (_, index) => ({
    [Symbol.iterator]: () => hourlyJobs(options, index + 1),
  }));
  return [...services(options, { cpuMilli: [250, 1000], factor: 5 }), ...jobs];
}
