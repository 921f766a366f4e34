/** Times of machines from their launch until their node is Ready. */
import type { LocalAwsOptions } from '#local/aws';
import type { KubeletOptions } from '#local/cluster';
import { normal } from './draws.ts';
import type { WorldModel } from './world-model.ts';

/** The 95th percentile of a normal distribution, in standard deviations. */
const P95 = 1.6449;
/**
 * Maximum shares of the median for the start of the instance in EC2 and for the readiness of the kubelet. The rest is
 * boot time.
 */
const START_SHARE = 0.2;
const READY_SHARE = 0.1;
const MOST_START_MS = 8_000;
const MOST_READY_MS = 5_000;

type Times = Pick<WorldModel, 'bootSeconds' | 'seed' | 'bootSeed'>;

/** Returns the milliseconds from the launch of the nth machine until its node is Ready. */
export function bootMs({ bootSeconds: { p50, p95 }, seed, bootSeed = seed }: Times, launch: number): number {
  const deviation = Math.log(p95 / p50) / P95;
  return 1000 * p50 * Math.exp(deviation * normal(bootSeed, 'boot', launch));
}

const startMs = ({ bootSeconds: { p50 } }: Times): number => Math.min(MOST_START_MS, 1000 * p50 * START_SHARE);
const readyMs = ({ bootSeconds: { p50 } }: Times): number => Math.min(MOST_READY_MS, 1000 * p50 * READY_SHARE);

/** A median of 0 selects the default boot times of the local cluster. */
const isModelled = ({ bootSeconds: { p50 } }: Times): boolean => p50 > 0;

export function bootOfInstances(model: Times): Pick<LocalAwsOptions, 'startDelayMs' | 'bootDelayMs'> {
  if (!isModelled(model)) return {};
  const [start, ready] = [startMs(model), readyMs(model)];
  return {
    startDelayMs: start,
    bootDelayMs: (launch) => Math.max(0, Math.round(bootMs(model, launch) - start - ready)),
  };
}

/** Returns options of kubelets in which boot times include no further delays. */
export function kubeletsOf(model: WorldModel): Partial<KubeletOptions> {
  const pods = 1000 * model.podStartSeconds;
  return {
    ...(isModelled(model) ? { bootMs: 0, bootJitter: 0, readyMs: readyMs(model) } : {}),
    podStartMs: [pods, pods],
    seed: model.bootSeed ?? model.seed,
  };
}
