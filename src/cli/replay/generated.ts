/** Generates the trace of an argument such as `--trace generate:web-service?pods=500&duration=7d`. */
import { parseDuration } from '#api/values';
import { nearestName, quoted, tryRun } from '#lib';
import {
  DEFAULT_START,
  GENERATORS,
  type GeneratorKind,
  type GeneratorOptions,
  generateTrace,
  type Trace,
} from '#replay/trace';
import { InputError } from '../objects/errors.ts';

const SCHEME = 'generate:';
const DAY_SECONDS = 86_400;
const MOST_PODS = 100_000;
const MOST_SECONDS = 366 * DAY_SECONDS;

const DEFAULTS: GeneratorOptions = { seed: 1, pods: 100, seconds: 7 * DAY_SECONDS, startMs: Date.parse(DEFAULT_START) };
const NAMES: readonly string[] = ['seed', 'pods', 'duration', 'start'];

export const isGenerated = (source: string): boolean => source.startsWith(SCHEME);

/** @throws InputError with the kind or the option */
export function generateFrom(source: string): Trace {
  const where = `--trace ${source}`;
  const at = source.indexOf('?');
  const kind = source.slice(SCHEME.length, at < 0 ? undefined : at);
  if (!isKind(kind))
    throw new InputError(where, `unknown generator ${quoted(kind)}${meant(kind, Object.keys(GENERATORS))}`);
  return generateTrace(kind, optionsIn(new URLSearchParams(at < 0 ? '' : source.slice(at + 1)), where));
}

const isKind = (kind: string): kind is GeneratorKind => Object.hasOwn(GENERATORS, kind);

function meant(name: string, known: readonly string[]): string {
  const near = nearestName(name, known);
  return near === undefined ? `; use one of ${known.join(', ')}` : `; did you mean ${quoted(near)}?`;
}

function optionsIn(given: URLSearchParams, where: string): GeneratorOptions {
  for (const name of given.keys())
    if (!NAMES.includes(name)) throw new InputError(where, `unknown option ${quoted(name)}${meant(name, NAMES)}`);
  const number = (name: 'seed' | 'pods', least: number, most: number): number => {
    const text = given.get(name);
    if (text === null) return DEFAULTS[name];
    const value = Number(text);
    if (!/^\d+$/.test(text) || value < least || value > most)
      throw new InputError(where, `${name} must be an integer from ${least} to ${most}, not ${quoted(text)}`);
    return value;
  };
  return {
    seed: number('seed', 0, Number.MAX_SAFE_INTEGER),
    pods: number('pods', 1, MOST_PODS),
    seconds: secondsIn(given.get('duration'), where),
    startMs: startIn(given.get('start'), where),
  };
}

function secondsIn(text: string | null, where: string): number {
  if (text === null) return DEFAULTS.seconds;
  const days = /^(\d{1,3})d$/.exec(text)?.[1];
  const seconds = days === undefined ? durationSeconds(text) : Number(days) * DAY_SECONDS;
  if (!(seconds > 0 && seconds <= MOST_SECONDS))
    throw new InputError(where, `duration must be at most 366d, for example 7d or 36h, not ${quoted(text)}`);
  return seconds;
}

const durationSeconds = (text: string): number => (tryRun(() => parseDuration(text)) ?? Number.NaN) / 1000;

function startIn(text: string | null, where: string): number {
  if (text === null) return DEFAULTS.startMs;
  const ms = Date.parse(text);
  if (Number.isNaN(ms))
    throw new InputError(where, `start must be a time, for example ${DEFAULT_START}, not ${quoted(text)}`);
  return ms;
}
