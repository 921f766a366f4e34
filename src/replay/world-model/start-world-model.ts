/** Connects a world model to an in-process AWS. */

import type { Clock } from '#lib/clock';
import {
  type AwsAccount,
  chance,
  type LocalAwsOptions,
  type LocalInstance,
  type Pool,
  standardZones,
} from '#local/aws';
import { poolDepth, ruleBuiltCatalogue } from '#local/machines';
import { bootOfInstances } from './boot-times.ts';
import { exponential } from './draws.ts';
import { spotMarket } from './spot-market.ts';
import type { WorldModel } from './world-model.ts';

const HOUR_MS = 3_600_000;

/** Times at which a pool changes between the two states. The first entry is the end of the initial state. */
interface Changes {
  readonly beganSoldOut: boolean;
  readonly at: number[];
}

/**
 * Returns a function that reports if a pool is sold out at a moment, or undefined if pools are never sold out. The
 * durations of both states are exponential, so the share of the model applies from the start. Reserved capacity is
 * never sold out. The result depends only on the seed, the pool and the moment.
 */
export function shortages(
  { soldOut, seed }: Pick<WorldModel, 'soldOut' | 'seed'>,
  startMs: number,
): ((pool: Pool, atMs: number) => boolean) | undefined {
  if (soldOut.spot === 0 && soldOut.onDemand === 0) return undefined;
  const known = new Map<string, Changes>();
  return ({ instanceType, zone, capacityType }, atMs) => {
    const share = capacityType === 'spot' ? soldOut.spot : capacityType === 'on-demand' ? soldOut.onDemand : 0;
    if (share === 0 || share === 1) return share === 1;
    const pool = `${instanceType}/${zone}/${capacityType}`;
    let changes = known.get(pool);
    if (changes === undefined) {
      changes = { beganSoldOut: chance(seed, 'sold out', pool) < share, at: [] };
      known.set(pool, changes);
    }
    return isSoldOutAt(changes, Math.max(0, atMs - startMs), (nth, isSoldOut) => {
      const hours = isSoldOut ? soldOut.hours : (soldOut.hours * (1 - share)) / share;
      return hours * HOUR_MS * exponential(seed, 'sold out for', pool, nth);
    });
  };
}

function isSoldOutAt(
  { beganSoldOut, at }: Changes,
  passedMs: number,
  lengthOf: (nth: number, isSoldOut: boolean) => number,
): boolean {
  while ((at.at(-1) ?? -1) <= passedMs) {
    const isSoldOut = beganSoldOut === (at.length % 2 === 0);
    at.push((at.at(-1) ?? 0) + lengthOf(at.length, isSoldOut));
  }
  const changed = at.findLastIndex((end) => end <= passedMs) + 1;
  return beganSoldOut === (changed % 2 === 0);
}

const DAY_MS = 86_400_000;

type WorldAws = Pick<
  LocalAwsOptions,
  'region' | 'randomSeed' | 'zones' | 'catalogue' | 'startDelayMs' | 'bootDelayMs' | 'isSoldOut'
>;

/**
 * Returns the options of the account. If all parameters of the model are zero, the account behaves like the default
 * local AWS.
 * @param startMs start of the trace on the world's clock
 */
export function awsOf(model: WorldModel, startMs: number): WorldAws {
  const { region, seed } = model;
  const zones = standardZones(region);
  const isSoldOut = shortages(model, startMs);
  return {
    region,
    randomSeed: seed,
    zones,
    catalogue: spotMarket(ruleBuiltCatalogue(zones, seed), model, startMs),
    ...bootOfInstances(model),
    ...(isSoldOut === undefined ? {} : { isSoldOut }),
  };
}

interface RunningModel {
  readonly model: WorldModel;
  /** Account that was opened with the options of `awsOf`. */
  readonly aws: AwsAccount;
  readonly clock: Clock;
  /** Called when the interruption warning of an instance is sent. */
  readonly onInterrupted?: (instance: LocalInstance) => void;
}

/** Starts interruptions and the rotation of images. Returns a function that stops both. */
export function startWorldModel({ model, aws, clock, onInterrupted }: RunningModel): () => void {
  const ends = [startInterruptions({ model, aws, clock, onInterrupted }), startRotation(model, aws, clock)];
  return () => {
    for (const end of ends) end();
  };
}

function startRotation({ imageRotationDays: days }: WorldModel, { seed }: AwsAccount, clock: Clock): () => void {
  if (days === 0) return () => undefined;
  let cancel: () => void;
  const wait = (): void => {
    cancel = clock.after(days * DAY_MS, () => {
      seed.newImages();
      wait();
    });
  };
  wait();
  return () => cancel();
}

/** Interruptions of spot instances, with EC2's warning of two minutes. */
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
function startInterruptions({ model, aws, clock, onInterrupted }: InterruptionOptions): () => void {
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
