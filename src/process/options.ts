/** How one process setting is spelled, parsed and defaulted. `settings.ts` lists them all. */
import { formatDuration, parseDuration } from '../api/duration.ts';
import { quoted } from '../lib/quoted.ts';

/** A setting that cannot be used; the process stops at startup with this text. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

export interface Option<T> {
  /** Without dashes. The environment variable is the same in capitals with underscores. */
  readonly flag: string;
  readonly fallback: T;
  readonly help: string;
  /** The fallback as it would be written. */
  readonly shown: string;
  /** Takes no value from the next argument. */
  readonly isSwitch: boolean;
  /** Strict: the text of a flag. @throws SettingsError saying what is wrong with the text alone */
  readonly fromFlag: (text: string) => T;
  /** Lenient: answers undefined for text that does not parse, and the default applies. */
  readonly fromEnv: (text: string) => T | undefined;
}

const TRUE = new Set(['1', 't', 'T', 'true', 'True', 'TRUE']);
const FALSE = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE']);

/** Reads the boolean spellings of Go's strconv.ParseBool. */
export function parseLaxBoolean(text: string): boolean | undefined {
  if (TRUE.has(text)) return true;
  return FALSE.has(text) ? false : undefined;
}

function option<T>(
  flag: string,
  fallback: T,
  help: string,
  parse: {
    readonly flag: (text: string) => T;
    readonly env?: (text: string) => T | undefined;
    readonly isSwitch?: boolean;
    readonly shown?: string;
  },
): Option<T> {
  const lenient = (text: string): T | undefined => {
    try {
      return parse.flag(text);
    } catch {
      return undefined;
    }
  };
  return {
    flag,
    fallback,
    help,
    shown: parse.shown ?? String(fallback),
    isSwitch: parse.isSwitch ?? false,
    fromFlag: parse.flag,
    fromEnv: parse.env ?? lenient,
  };
}

export const text = (flag: string, fallback: string, help: string): Option<string> =>
  option(flag, fallback, help, { flag: (value) => value });

export const toggle = (flag: string, fallback: boolean, help: string): Option<boolean> =>
  option(flag, fallback, help, {
    isSwitch: true,
    env: parseLaxBoolean,
    flag: (value) => {
      if (value === 'true') return true;
      if (value === 'false') return false;
      throw new SettingsError(`${quoted(value)} is not a valid value, must be true or false`);
    },
  });

export const integer = (flag: string, fallback: number, help: string): Option<number> =>
  option(flag, fallback, help, {
    flag: (value) => {
      const parsed = Number(value);
      if (!/^[+-]?\d+$/.test(value) || !Number.isSafeInteger(parsed)) throw new SettingsError('must be a whole number');
      return parsed;
    },
  });

export const decimal = (flag: string, fallback: number, help: string): Option<number> =>
  option(flag, fallback, help, {
    flag: (value) => {
      const parsed = Number(value);
      if (value.trim() === '' || !Number.isFinite(parsed)) throw new SettingsError('must be a number');
      return parsed;
    },
  });

/** `1m` rather than `1m0s`. */
const goDuration = (ms: number): string => formatDuration(ms).replace(/(?<=[hm])0[ms](?:0s)?$/, '');

/** Milliseconds, written as a Go duration. */
export const duration = (flag: string, fallbackMs: number, help: string): Option<number> =>
  option(flag, fallbackMs, help, {
    shown: goDuration(fallbackMs),
    flag: (value) => {
      try {
        return parseDuration(value);
      } catch {
        throw new SettingsError('must be a duration such as 10s, 1m or 2h45m');
      }
    },
  });

export const environmentName = (flag: string): string => flag.toUpperCase().replaceAll('-', '_');
