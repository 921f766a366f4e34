/**
 * Windows of allowed times in a time zone. A window is open while the clock of the zone shows a time in it. A window that the
 * clock skips when it is set forward stays closed. A time that the clock shows twice when it is set back is in the window twice.
 */
import { type NodePolicy, type NodePool, sectionFor } from '#api/objects';

type Section = NonNullable<NodePolicy['spec']['windows']>;
type WindowReason = NonNullable<Section['allowed'][number]['reasons']>[number];

/** Windows for some reasons. This type is a public format: the operator serves it at `/debug/budgets`. */
export interface OpenHours extends Pick<Section, 'timeZone' | 'allowed'> {
  /** Name of the NodePolicy. */
  readonly policy: string;
}

const DAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const MINUTE_MS = 60_000;
const DAY_MINUTES = 24 * 60;
const DAY_MS = DAY_MINUTES * MINUTE_MS;
/** Days to search for a change. A window of one day a week can fall into an hour that the clock skips. */
const MOST_DAYS = 16;

const formats = new Map<string, Intl.DateTimeFormat>();
/** Maximum number of time zones with a format. */
const MOST_FORMATS = 100;

/** @throws RangeError if the time zone is unknown */
function formatOf(timeZone: string): Intl.DateTimeFormat {
  const known = formats.get(timeZone);
  if (known !== undefined) return known;
  const format = new Intl.DateTimeFormat('en-US', {
    timeZone,
    hourCycle: 'h23',
    year: 'numeric',
    month: 'numeric',
    day: 'numeric',
    hour: 'numeric',
    minute: 'numeric',
  });
  if (formats.size >= MOST_FORMATS) formats.clear();
  formats.set(timeZone, format);
  return format;
}

/**
 * Returns the time that the clock of the zone shows, as if it were UTC, in whole minutes.
 * @throws RangeError if the zone is unknown
 */
export function clockIn(timeZone: string, atMs: number): number {
  const parts = new Map(
    formatOf(timeZone)
      .formatToParts(atMs)
      .map(({ type, value }) => [type, Number(value)]),
  );
  const part = (name: Intl.DateTimeFormatPartTypes): number => parts.get(name) ?? 0;
  return Date.UTC(part('year'), part('month') - 1, part('day'), part('hour'), part('minute'));
}

const minuteOf = (time = '00:00'): number => Number(time.slice(0, 2)) * 60 + Number(time.slice(3));

/** Returns true if one of the windows is open. @throws Error if the time zone is unknown */
export function isOpenAt({ timeZone = 'UTC', allowed, policy }: OpenHours, atMs: number): boolean {
  const shownMs = readClock(timeZone, atMs, policy);
  const day = new Date(shownMs).getUTCDay();
  const minute = Math.floor(shownMs / MINUTE_MS) % DAY_MINUTES;
  return allowed.some(({ days = DAYS, start, end }) => {
    const [first, last] = [minuteOf(start), minuteOf(end)];
    const isOn = (weekday: number): boolean => days.includes(DAYS[(weekday + 7) % 7] ?? 'Sun');
    if (first < last) return isOn(day) && first <= minute && minute < last;
    return (isOn(day) && minute >= first) || (isOn(day - 1) && minute < last);
  });
}

function readClock(timeZone: string, atMs: number, policy: string): number {
  try {
    return clockIn(timeZone, atMs);
  } catch {
    throw new Error(
      `invalid windows of NodePolicy ${policy}, time zone "${timeZone}" is unknown, expected for example Europe/Berlin`,
    );
  }
}

/** Returns the first time after `fromMs` at which the windows open or close, if such a time exists. */
export function nextTurnMs(hours: OpenHours, fromMs: number): number | undefined {
  const now = isOpenAt(hours, fromMs);
  const { timeZone = 'UTC', allowed } = hours;
  const minutes = [...new Set([0, ...allowed.flatMap(({ start, end }) => [minuteOf(start), minuteOf(end)])])];
  const firstDayMs = Math.floor(clockIn(timeZone, fromMs) / DAY_MS) * DAY_MS;
  // times of adjacent days can overlap if the clock is set between them
  const times = Array.from({ length: MOST_DAYS }, (_, day) => turnsOn(timeZone, firstDayMs + day * DAY_MS, minutes));
  return times
    .flat()
    .filter((atMs) => atMs > fromMs)
    .sort((a, b) => a - b)
    .find((atMs) => isOpenAt(hours, atMs) !== now);
}

/** Returns the times at which the clock of the zone reaches one of the minutes of a day or is set. */
function turnsOn(timeZone: string, dayMs: number, minutes: readonly number[]): readonly number[] {
  const offset = (atMs: number): number => clockIn(timeZone, atMs) - Math.floor(atMs / MINUTE_MS) * MINUTE_MS;
  const [before, after] = [dayMs - DAY_MS, dayMs + 2 * DAY_MS];
  const offsets = new Set([offset(before), offset(after)]);
  const times = minutes.flatMap((minute) => [...offsets].map((ahead) => dayMs + minute * MINUTE_MS - ahead));
  return [...times, ...(offsets.size > 1 ? [setBetween(offset, before, after)] : [])];
}

/** Returns the minute at which the clock of a zone is set. */
function setBetween(offset: (atMs: number) => number, beforeMs: number, afterMs: number): number {
  let [early, late] = [Math.floor(beforeMs / MINUTE_MS), Math.ceil(afterMs / MINUTE_MS)];
  const first = offset(beforeMs);
  while (late - early > 1) {
    const middle = Math.floor((early + late) / 2);
    if (offset(middle * MINUTE_MS) === first) early = middle;
    else late = middle;
  }
  return late * MINUTE_MS;
}

/** Returns the windows for a reason. A reason without windows is allowed at all times. */
export function openHours(
  policies: readonly NodePolicy[],
  nodePool: NodePool,
  reason: WindowReason,
): OpenHours | undefined {
  const found = sectionFor(policies, nodePool, 'windows');
  return found && hoursFor(found.value, found.policy.metadata.name, reason);
}

function hoursFor({ timeZone, allowed }: Section, policy: string, reason: WindowReason): OpenHours | undefined {
  const own = allowed.filter(({ reasons }) => reasons?.includes(reason) ?? reason !== 'Expired');
  return own.length === 0 ? undefined : { policy, allowed: own, ...(timeZone !== undefined && { timeZone }) };
}

type PoolBudget = NonNullable<NonNullable<NodePool['spec']['disruption']>['budgets']>[number];

/** Budget of a NodePool, or of the windows of its policy. This type is a public format. */
export type Budget = PoolBudget & {
  /** Windows of a policy. The budget is active while all of them are closed. */
  readonly outside?: OpenHours;
};

/** Copies of NodePools with the budgets of their windows. Equal inputs have the same copy. */
const copies = new WeakMap<NodePool, { readonly section: Section; readonly copy: NodePool }>();

/** Adds budgets of 0 nodes for the times outside the windows of the policy. */
export function withWindows(
  nodePool: NodePool,
  policies: readonly NodePolicy[],
  budgets: (pool: NodePool) => readonly PoolBudget[],
): NodePool {
  const found = sectionFor(policies, nodePool, 'windows');
  if (found === undefined) return nodePool;
  const known = copies.get(nodePool);
  if (known?.section === found.value) return known.copy;
  const closed = (['Empty', 'Drifted', 'Underutilized'] as const).flatMap((reason) => {
    const outside = hoursFor(found.value, found.policy.metadata.name, reason);
    return outside === undefined ? [] : [{ nodes: '0', reasons: [reason], outside }];
  });
  const disruption = { ...nodePool.spec.disruption, budgets: [...budgets(nodePool), ...closed] };
  // the further field of the budgets is for the engine, and a NodePool without disruption stays without its other fields
  const copy = { ...nodePool, spec: { ...nodePool.spec, disruption } } as NodePool;
  copies.set(nodePool, { section: found.value, copy });
  return copy;
}
