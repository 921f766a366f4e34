/** The history in the text form that survives restarts. */
import { own, timeOf } from '#lib';
import { type CostHour, CostHours, HOUR_MS, type PoolCost } from './cost-hours.ts';
import { DecisionLog, type LoggedDecision, type MoveOutcome } from './decision-log.ts';

/** Name of the ConfigMap with the history, in the namespace of the operator. */
export const HISTORY_NAME = 'karpenter-history';

/** History of the operator's decisions and costs. */
export interface OperatorHistory {
  readonly decisions: DecisionLog;
  readonly hours: CostHours;
}

export const newHistory = (): OperatorHistory => ({ decisions: new DecisionLog(), hours: new CostHours() });

/** Written form, version 1. Costs are millionths of a USD per hour, in the order of {@link PARTS}. */
interface Stored {
  readonly version: 1;
  readonly hours: readonly {
    readonly hour: number;
    readonly samples: number;
    readonly nodePools: Readonly<Record<string, readonly number[]>>;
  }[];
  readonly decisions: readonly LoggedDecision[];
}

/** Order of the stored amounts. Surplus credits of 0 are left out, so that former versions of the operator can read the rest. */
const PARTS = ['effective', 'list', 'idle', 'daemonSets'] as const;
const MICRO = 1e6;

/** Yields the history as text, and then increasingly shorter forms without the older entries, for storage with less room. */
export function* historyTexts({ decisions, hours }: OperatorHistory): Generator<string> {
  for (let part = 1; part > 1 / 1_000; part /= 2) {
    yield JSON.stringify({
      version: 1,
      hours: latest(hours.hours, part).map(storedHour),
      decisions: latest(decisions.entries, part),
    } satisfies Stored);
  }
}

const latest = <T>(list: readonly T[], part: number): readonly T[] =>
  list.slice(list.length - Math.ceil(list.length * part));

const storedHour = ({ hourMs, minutes, nodePools }: CostHour): Stored['hours'][number] => ({
  hour: hourMs / HOUR_MS,
  // earlier versions read whole numbers only
  samples: Math.max(1, Math.round(minutes)),
  nodePools: Object.fromEntries(
    [...nodePools].map(([name, cost]) => {
      const parts = cost.surplusCredits > 0 ? [...PARTS, 'surplusCredits' as const] : PARTS;
      return [name, parts.map((part) => Math.round(cost[part] * MICRO))];
    }),
  ),
});

/** Largest difference between the clocks of two processes. */
const MOST_AHEAD_MS = HOUR_MS;

/**
 * Inserts the stored history before the current history. Skips entries that are invalid or in the future.
 * @throws Error if the text is not a history
 */
export function restoreHistory({ decisions, hours }: OperatorHistory, text: string, nowMs: number): void {
  const stored = JSON.parse(text) as Partial<Stored> | null;
  if (stored?.version !== 1 || !Array.isArray(stored.hours) || !Array.isArray(stored.decisions))
    throw new Error('it is not a history of version 1');
  const mostMs = nowMs + MOST_AHEAD_MS;
  hours.restore(stored.hours.flatMap(readHour).filter(({ hourMs }) => hourMs <= mostMs));
  decisions.restore(stored.decisions.filter(isDecision).filter(({ at }) => timeOf(at) <= mostMs));
}

/** Maximum number of samples of one hour. Earlier versions counted each, although one per minute is usual. */
const MOST_SAMPLES = 3_600;

function readHour(stored: Stored['hours'][number] | null): readonly CostHour[] {
  if (stored === null || typeof stored !== 'object') return [];
  const { hour, samples, nodePools } = stored;
  const isReadable =
    Number.isSafeInteger(hour) && hour >= 0 && Number.isSafeInteger(samples) && samples > 0 && samples <= MOST_SAMPLES;
  if (!isReadable || nodePools === null || typeof nodePools !== 'object') return [];
  const costs = Object.entries(nodePools).flatMap(([name, values]) => {
    const cost = readCost(values);
    return cost === undefined ? [] : [[name, cost] as const];
  });
  return [{ hourMs: hour * HOUR_MS, minutes: samples, nodePools: new Map(costs) }];
}

function readCost(values: unknown): PoolCost | undefined {
  if (!Array.isArray(values) || !values.every((value) => Number.isFinite(value) && value >= 0)) return undefined;
  if (values.length < PARTS.length || values.length > PARTS.length + 1) return undefined;
  const [effective = 0, list = 0, idle = 0, daemonSets = 0, surplusCredits = 0] = (values as readonly number[]).map(
    (value) => value / MICRO,
  );
  return { effective, list, idle, daemonSets, surplusCredits };
}

/** Fields of entries, by kind: mandatory texts and numbers, and optional texts. */
const FIELDS: Readonly<
  Record<
    LoggedDecision['kind'],
    { readonly texts: readonly string[]; readonly numbers: readonly string[]; readonly optional?: readonly string[] }
  >
> = {
  bought: {
    texts: ['nodeClaim', 'nodePool', 'reason'],
    numbers: ['pods', 'usdPerHour'],
    optional: ['instanceType', 'zone', 'capacityType', 'node', 'joinedAt'],
  },
  disrupted: {
    texts: ['id', 'method', 'decision', 'reason', 'command'],
    numbers: ['nodes', 'replacements', 'pods', 'predictedUsdPerHour'],
  },
  deleted: { texts: ['nodeClaim', 'nodePool', 'reason'], numbers: ['pods'], optional: ['node'] },
  interrupted: {
    texts: ['nodeClaim', 'nodePool', 'reason', 'instanceType', 'zone', 'capacityType'],
    numbers: ['pods'],
    optional: ['node'],
  },
  refused: { texts: ['code', 'text'], numbers: ['pods'] },
  held: { texts: ['nodePool', 'reason', 'text', 'until'], numbers: [] },
  emptying: { texts: [], numbers: ['nodes'] },
  rebooted: { texts: ['nodeClaim', 'nodePool', 'node', 'text'], numbers: [] },
  pause: { texts: ['scope', 'text'], numbers: [] },
  observed: { texts: ['decision', 'reason', 'text'], numbers: ['pods', 'usdPerHour'] },
  leader: { texts: ['replica', 'version'], numbers: [] },
};
/** Lists of texts, in entries of any kind. An absent list is valid, because earlier versions wrote fewer lists. */
const LISTS = ['nodePools', 'examples', 'namespaces', 'nodeClaims', 'nodeNames'] as const;

function isDecision(entry: unknown): entry is LoggedDecision {
  if (entry === null || typeof entry !== 'object') return false;
  const values = entry as Readonly<Record<string, unknown>>;
  const fields = own(FIELDS, String(values.kind) as LoggedDecision['kind']);
  if (fields === undefined || Number.isNaN(timeOf(String(values.at)))) return false;
  const { outcome, before, after } = values;
  return (
    fields.texts.every((name) => typeof values[name] === 'string') &&
    fields.numbers.every((name) => Number.isFinite(values[name])) &&
    (fields.optional ?? []).every((name) => ['string', 'undefined'].includes(typeof values[name])) &&
    LISTS.every((name) => isList(values[name] ?? [])) &&
    [before, after].every((size) => size === undefined || isSize(size)) &&
    (outcome === undefined || isOutcome(outcome))
  );
}

const isList = (value: unknown): boolean => Array.isArray(value) && value.every((each) => typeof each === 'string');

function isSize(value: unknown): boolean {
  const { nodes, usdPerHour } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Number.isFinite(nodes) && Number.isFinite(usdPerHour);
}

function isOutcome(value: unknown): value is MoveOutcome {
  const { predictedUsd, realisedUsd } = (value ?? {}) as Readonly<Record<string, unknown>>;
  return Number.isFinite(predictedUsd) && Number.isFinite(realisedUsd);
}
