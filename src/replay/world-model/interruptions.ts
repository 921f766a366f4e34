/** Interruptions of spot instances, with EC2's warning of two minutes. */
import type { Clock } from '../../lib/clock.ts';
import { poolDepth } from '../../local/aws/catalogue/pool-depth.ts';
import type { AwsAccount } from '../../local/aws/options.ts';
import type { LocalInstance } from '../../local/aws/types.ts';
import { exponential } from './draws.ts';
import type { WorldModel } from './world-model.ts';

const DAY_MS = 86_400_000;

interface InterruptionOptions {
  readonly model: Pick<WorldModel, 'spot' | 'seed'>;
  readonly aws: Pick<AwsAccount, 'instances' | 'faults'>;
  readonly clock: Clock;
  /** Called when the warning is sent. */
  readonly onInterrupted?: ((instance: LocalInstance) => void) | undefined;
}

/** Returns the relative interruption rate of a pool. The mean of all pools is 1. The depth is from 0 to 1. */
export function pace(depth: number, unevenness: number): number {
  if (unevenness === 1) return 1;
  const root = Math.sqrt(unevenness);
  return (unevenness ** (0.5 - depth) * Math.log(unevenness)) / (root - 1 / root);
}

/**
 * Schedules the interruptions of the account's instances and returns a function that stops it. Each instance has its
 * own random wait.
 */
export function startInterruptions({ model, aws, clock, onInterrupted }: InterruptionOptions): () => void {
  const { interruptionsPerDay, unevenness } = model.spot;
  if (interruptionsPerDay === 0) return () => undefined;
  // at this rate, the expected share of instances is interrupted within a day
  const ratePerDay = -Math.log(1 - interruptionsPerDay);
  const timers = new Map<string, () => void>();
  const forget = (id: string): void => {
    timers.get(id)?.();
    timers.delete(id);
  };
  let launched = 0;
  const unsubscribe = aws.instances.subscribe((instance, previous) => {
    if (instance.state === 'shutting-down' || instance.state === 'terminated') return forget(instance.id);
    if (previous !== undefined) return;
    const nth = launched++;
    if (instance.capacityType !== 'spot') return;
    const rate = ratePerDay * pace(poolDepth(model.seed, instance.type, instance.zone), unevenness);
    const waitMs = (DAY_MS * exponential(model.seed, 'interruption', nth)) / rate;
    const cancel = clock.after(waitMs, () => {
      timers.delete(instance.id);
      aws.faults.interrupt(instance.id);
      onInterrupted?.(instance);
    });
    timers.set(instance.id, cancel);
  });
  return () => {
    unsubscribe();
    for (const id of [...timers.keys()]) forget(id);
  };
}
