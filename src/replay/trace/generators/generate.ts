/** Generates traces from a seed. The functions are pure, so the same options always result in the same trace. */
import { formatDuration } from '#api/values';
import { timestamp } from '#lib';
import type { Trace } from '../trace.ts';
import { batch, ciBursts } from './batch.ts';
import { largePods, onePerNode, rollingUpdates, slowStart, softSpread, zonalState } from './constrained-services.ts';
import { gpuInference, machineLearning } from './machine-learning.ts';
import { mergeStreams } from './merge.ts';
import { daemonSet } from './objects.ts';
import type { GeneratorOptions, Streams } from './options.ts';
import { pipeline } from './pipeline.ts';
import { leftoverServices, smallServices } from './small-services.ts';
import { spark } from './spark.ts';
import { hourlySpikes, nightlySpikes, scaleToZero } from './spikes.ts';
import { webService } from './web-service.ts';

export type { GeneratorOptions } from './options.ts';

/** Returns the options of a part of a trace. */
export const share = (options: GeneratorOptions, part: number): GeneratorOptions => ({
  ...options,
  pods: options.pods * part,
});

const mix = (options: GeneratorOptions): Streams => [
  ...webService(share(options, 0.84)),
  ...batch(share(options, 0.08)),
  ...pipeline(share(options, 0.04)),
  ...machineLearning(share(options, 0.04)),
];

/** Kinds of traces, each with a line for the help. */
export const GENERATORS = {
  'web-service': [webService, 'services with autoscaling that follow day and week, and stores behind them'],
  batch: [batch, 'bursts of continuous integration in working hours, and Jobs around the clock'],
  pipeline: [pipeline, 'nightly stages that follow one another, with much memory'],
  'machine-learning': [machineLearning, 'inference and training with GPUs, and notebooks'],
  mix: [mix, 'all of the above in one cluster'],
  'small-services': [smallServices, 'services with small pods, which have a steep wave every evening'],
  leftovers: [
    leftoverServices,
    'services that keep a fifth of their pods after a busy evening, and a Job of three pods every hour',
  ],
  'hourly-spikes': [hourlySpikes, 'services, and Jobs of many pods on the hour, which run for some minutes'],
  'nightly-spikes': [nightlySpikes, 'services, and Jobs of many pods at one in the night'],
  'ci-bursts': [ciBursts, 'builds of up to 40 pods in working hours, and an empty cluster at night'],
  spark: [spark, 'drivers that must not be disrupted, and stages of executors with much memory'],
  'rolling-updates': [
    rollingUpdates,
    'services with frequent rollouts and PodDisruptionBudgets, a third of them closed',
  ],
  'one-per-node': [onePerNode, 'services with anti-affinity between all pods'],
  'soft-spread': [softSpread, 'services that prefer to be spread over hosts or zones'],
  'large-pods': [largePods, 'services with pods of 5 to 12 CPUs'],
  'zonal-state': [zonalState, 'StatefulSets with volumes, which are scaled with the day'],
  'gpu-inference': [gpuInference, 'inference with one GPU per pod, which follows the day'],
  'slow-start': [slowStart, 'services with pods that are ready after 3 to 10 minutes'],
  'scale-to-zero': [scaleToZero, 'services without pods for most of the time'],
} as const satisfies Record<string, readonly [make: (options: GeneratorOptions) => Streams, says: string]>;

export type GeneratorKind = keyof typeof GENERATORS;

/** A Monday. */
export const DEFAULT_START = '2026-01-05T00:00:00Z';

/** Agents that run on each node of every cluster. */
const AGENTS: Streams = [
  [
    {
      at: 0,
      apply: daemonSet({ namespace: 'kube-system', name: 'node-agent', size: { cpuMilli: 50, memoryMi: 128 } }),
    },
    {
      at: 0,
      apply: daemonSet({ namespace: 'kube-system', name: 'log-shipper', size: { cpuMilli: 100, memoryMi: 192 } }),
    },
  ],
];

export function traceOf(name: string, { seed, pods, startMs, seconds }: GeneratorOptions, streams: Streams): Trace {
  return {
    header: {
      trace: 'karpenter/v1',
      name,
      start: timestamp(startMs),
      seconds,
      source: `generated: ${name}, seed ${seed}, ${pods} pods, ${formatDuration(seconds * 1000)}`,
    },
    events: () => mergeStreams([...AGENTS, ...streams]),
  };
}

export const generateTrace = (kind: GeneratorKind, options: GeneratorOptions): Trace =>
  traceOf(kind, options, GENERATORS[kind][0](options));
