/** Traces of the benchmarks. Their services change less often: for each running pod, ten pods start in a week. */
import { batch, pipeline, type Streams, share, traceOf, type WebTuning, webService } from '#replay/testing';
import { DEFAULT_START, type GeneratorOptions, type Trace } from '#replay/trace';

const DAY_SECONDS = 86_400;
const STEADY_WEB: WebTuning = { noise: 0.03, burstsPerDay: 0.05, rolloutsPerWeek: 1.5 };

const steady = (options: GeneratorOptions, ends: number): Streams => [
  ...webService(share(options, 1 - 2 * ends), STEADY_WEB),
  ...batch(share(options, ends)),
  ...pipeline(share(options, ends)),
];

/** Generates a week of a cluster of about 500 nodes: about 5,000 pods run, and about 50,000 start. */
export function benchmarkWeek(seed: number): Trace {
  const options = { seed, pods: 5_000, startMs: Date.parse(DEFAULT_START), seconds: 7 * DAY_SECONDS };
  return traceOf('benchmark-week', options, steady(options, 0.0015));
}

/** Generates a month of a cluster of about 50 nodes: about 450 pods run, and about 25,000 start. */
export function month50(seed: number): Trace {
  const options = { seed, pods: 450, startMs: Date.parse(DEFAULT_START), seconds: 30 * DAY_SECONDS };
  return traceOf('month-50', options, steady(options, 0.005));
}
