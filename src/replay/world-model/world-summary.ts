/** Summary of a world model in a few lines of text. */
import type { WorldSummary } from '../result.ts';
import { DEFAULT_WORLD, type SpotModel, type WorldModel } from './world-model.ts';

const percent = (share: number): string => `${Number((100 * share).toFixed(2))} %`;

/** Returns a summary with one line for each parameter that differs from the default. */
export function worldSummary(model: WorldModel): WorldSummary {
  const { region, seed } = model;
  const says = LINES.filter(({ part }) => JSON.stringify(part(model)) !== JSON.stringify(part(DEFAULT_WORLD)));
  return { region, seed, says: says.map(({ line }) => line(model)) };
}

interface Line {
  /** Returns the parameters of this line. */
  part(model: WorldModel): unknown;
  line(model: WorldModel): string;
}

const LINES: readonly Line[] = [
  {
    part: ({ bootSeconds: { p50, p95 } }) => [p50, p95],
    line: ({ bootSeconds: { p50, p95 } }) =>
      p50 === 0 ? 'boot: default of the local cluster' : `boot: ${p50} s, 95 of 100 within ${p95} s`,
  },
  {
    part: ({ podStartSeconds }) => podStartSeconds,
    line: ({ podStartSeconds }) => `start of pods: ${podStartSeconds} s`,
  },
  {
    part: ({ cpuUtilization }) => cpuUtilization,
    line: ({ cpuUtilization }) => `pods use ${percent(cpuUtilization)} of the CPU that they request`,
  },
  { part: ({ spot }) => [spot.prices, spot.volatility], line: ({ spot }) => `spot prices: ${pricesText(spot)}` },
  {
    part: ({ spot }) => [spot.interruptionsPerDay, spot.unevenness],
    line: ({ spot: { interruptionsPerDay: rate, unevenness } }) =>
      rate === 0
        ? 'interruptions: none'
        : `interruptions: ${percent(rate)} of spot nodes per day` +
          (unevenness === DEFAULT_WORLD.spot.unevenness ? '' : `, ${unevenness} times as many in the smallest pools`),
  },
  {
    part: ({ soldOut: { spot, onDemand, hours } }) => [spot, onDemand, hours],
    line: ({ soldOut: { spot, onDemand, hours } }) =>
      spot === 0 && onDemand === 0
        ? 'sold out: never'
        : `sold out: ${percent(spot)} of spot pools, ${percent(onDemand)} of on-demand pools, for ${hours} h`,
  },
  {
    part: ({ imageRotationDays: days }) => days,
    line: ({ imageRotationDays: days }) => `new images: every ${days === 1 ? 'day' : `${days} days`}`,
  },
];

function pricesText({ prices, volatility }: SpotModel): string {
  const others = volatility === 0 ? 'constant' : `change by ${percent(volatility)} per day`;
  if (!prices?.length) return others;
  const pools = new Set(prices.map(({ instanceType, zone }) => `${instanceType}/${zone}`)).size;
  return `${prices.length} from the world file for ${pools} ${pools === 1 ? 'pool' : 'pools'}, other pools ${others}`;
}
