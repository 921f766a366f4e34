/** Generates data pipelines: consecutive stages every night, most of them with much memory. */
import type { TraceEvent } from '../trace.ts';
import { DAY, HOUR, isWeekend } from './calendar.ts';
import { job, namespace, type Size, sizeOf } from './objects.ts';
import { type GeneratorOptions, nameAt, type Streams, tenths, within } from './options.ts';
import { Random } from './random.ts';

const NAMESPACE = 'pipelines';
/** Seconds between stages, in which the pods of the previous stage start. */
const SLACK = 180;
/** Additional work on weekends, for weekly sums. */
const WEEKEND_FACTOR = 1.3;
/** Mean factor of weekdays and weekends. */
const MEAN_FACTOR = (5 + 2 * WEEKEND_FACTOR) / 7;

interface Stage {
  readonly name: string;
  readonly size: Size;
  /** Number of pods in proportion to the largest stage. */
  readonly share: number;
  readonly seconds: number;
}

interface Pipeline {
  readonly name: string;
  readonly startHour: number;
  readonly weight: number;
  readonly stages: readonly Stage[];
}

function pipelineAt(index: number, { seed }: GeneratorOptions): Pipeline {
  const name = nameAt(index);
  const random = new Random(seed, `${NAMESPACE}/${name}`);
  const minutes = (from: number, to: number): number => Math.round(60 * random.between(from, to));
  const stages: readonly Stage[] = [
    { name: 'extract', size: sizeOf(random, 1000, 2), share: random.between(0.2, 0.4), seconds: minutes(15, 30) },
    { name: 'transform', size: sizeOf(random, 2000, 8, 1.5), share: 1, seconds: minutes(40, 80) },
    { name: 'join', size: sizeOf(random, 2000, 12, 1.5), share: random.between(0.4, 0.7), seconds: minutes(20, 50) },
    { name: 'load', size: sizeOf(random, 1000, 4), share: random.between(0.1, 0.3), seconds: minutes(10, 30) },
    { name: 'report', size: sizeOf(random, 500, 4), share: 0.05, seconds: minutes(5, 15) },
  ];
  return { name, startHour: random.between(0, 5), weight: random.logNormal({ p50: 1, p95: 3 }), stages };
}

/** Returns the pod seconds of one night for each pod of the largest stage. */
const podSeconds = ({ stages }: Pipeline): number =>
  MEAN_FACTOR * stages.reduce((sum, { share, seconds }) => sum + share * seconds, 0);

/** @param pods number of pods of the largest stage */
function* eventsOf(pipeline: Pipeline, options: GeneratorOptions, pods: number): Generator<TraceEvent> {
  const random = new Random(options.seed, `${NAMESPACE}/${pipeline.name}/nights`);
  const firstMidnight = (DAY - ((options.startMs / 1000) % DAY)) % DAY;
  for (let night = firstMidnight; night < options.seconds; night += DAY) {
    let at = night + pipeline.startHour * HOUR + random.between(0, 600);
    const date = new Date(options.startMs + night * 1000).toISOString().slice(0, 10);
    const factor = isWeekend(options, night) ? WEEKEND_FACTOR : 1;
    for (const { name, size, share, seconds } of pipeline.stages) {
      const runsFor = Math.round(seconds * random.between(0.85, 1.15));
      const count = Math.max(1, Math.round(pods * share * factor));
      if (at > options.seconds) return;
      const shape = { namespace: NAMESPACE, name: `${pipeline.name}-${name}-${date}`, size };
      yield { at: tenths(at), apply: job(shape, count), runsFor };
      at += runsFor + SLACK;
    }
  }
}

export function pipeline(options: GeneratorOptions): Streams {
  const count = within(Math.round(Math.sqrt(options.pods)), 2, 60);
  const pipelines = Array.from({ length: count }, (_, index) => pipelineAt(index, options));
  const weights = pipelines.reduce((sum, { weight }) => sum + weight, 0);
  const streams = pipelines.map((each) => {
    const pods = (options.pods * DAY * each.weight) / weights / podSeconds(each);
    return { [Symbol.iterator]: () => eventsOf(each, options, pods) };
  });
  return [[{ at: 0, apply: namespace(NAMESPACE) }], ...streams];
}
