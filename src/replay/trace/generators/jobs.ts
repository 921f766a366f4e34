/** Generates Jobs at random times, each with some pods that run for a limited time. */
import type { TraceEvent } from '../trace.ts';
import { arrivals, type Curve, curveOf, highestOf } from './calendar.ts';
import { job, type PodShape, pod, type Size } from './objects.ts';
import { type GeneratorOptions, type Streams, tenths } from './options.ts';
import { type LogNormal, meanOf, Random } from './random.ts';

export interface JobFamily {
  readonly namespace: string;
  /** Name prefix of the Jobs, which are numbered. */
  readonly name: string;
  /** Weight of this family's share of all pods. */
  readonly weight: number;
  readonly curve: Curve;
  readonly sizes: readonly (readonly [size: Size, weight: number])[];
  /** Number of pods of one Job. */
  readonly pods: readonly (readonly [pods: number, weight: number])[];
  /** Seconds for which each pod runs. */
  readonly runsFor: LogNormal;
  readonly doNotDisrupt: boolean;
  /** Creates a single Pod without an owner in place of a Job. */
  readonly isBare?: boolean;
}

function* eventsOf(family: JobFamily, options: GeneratorOptions, meanGap: number): Generator<TraceEvent> {
  const { namespace, name, doNotDisrupt, isBare = false } = family;
  const random = new Random(options.seed, `${namespace}/${name}`);
  const load = curveOf(options, family.curve);
  let number = 0;
  for (const at of arrivals(options, load, { meanGap, most: highestOf(options, load), next: random })) {
    number += 1;
    const shape: PodShape = { namespace, name: `${name}-${number}`, size: random.weighted(family.sizes), doNotDisrupt };
    const pods = random.weighted(family.pods);
    const runsFor = Math.max(5, Math.round(random.logNormal(family.runsFor)));
    yield { at: tenths(at), apply: isBare ? pod(shape) : job(shape, pods), runsFor };
  }
}

const meanPods = ({ pods }: JobFamily): number =>
  pods.reduce((sum, [count, weight]) => sum + count * weight, 0) / pods.reduce((sum, [, weight]) => sum + weight, 0);

export function jobStreams(families: readonly JobFamily[], options: GeneratorOptions): Streams {
  const weights = families.reduce((sum, { weight }) => sum + weight, 0);
  return families.map((family) => {
    // Little's law: the number of running pods is the arrival rate times the duration
    const running = (options.pods * family.weight) / weights;
    const meanGap = (meanPods(family) * meanOf(family.runsFor)) / running;
    return { [Symbol.iterator]: () => eventsOf(family, options, meanGap) };
  });
}
