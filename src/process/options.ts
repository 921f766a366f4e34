/** Name, parser and default of a process setting. `settings.ts` lists all settings. */
import { formatDuration, parseDuration } from '#api/values';
import { quoted, tryRun } from '#lib';

/** Thrown if a setting is invalid. The process ends during its start with this message. */
export class SettingsError extends Error {
  constructor(message: string) {
    super(message);
    this.name = 'SettingsError';
  }
}

export interface Option<T> {
  /** Name of the flag without dashes. The environment variable has the same name in capitals with underscores. */
  readonly flag: string;
  readonly fallback: T;
  readonly help: string;
  /** Text of the fallback in the usage message. */
  readonly shown: string;
  /** True if this flag does not use the next argument as its value. */
  readonly isSwitch: boolean;
  /** Parses the text of a flag. @throws SettingsError that describes the problem without the name of the flag */
  readonly fromFlag: (text: string) => T;
  /** Parses the text of a variable. Returns undefined if the text is invalid; the default applies in this case. */
  readonly fromEnv: (text: string) => T | undefined;
}

const TRUE = new Set(['1', 't', 'T', 'true', 'True', 'TRUE']);
const FALSE = new Set(['0', 'f', 'F', 'false', 'False', 'FALSE']);

/** Parses a boolean like Go's strconv.ParseBool. Returns undefined if the text is invalid. */
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
  return {
    flag,
    fallback,
    help,
    shown: parse.shown ?? String(fallback),
    isSwitch: parse.isSwitch ?? false,
    fromFlag: parse.flag,
    fromEnv: parse.env ?? ((text) => tryRun(() => parse.flag(text))),
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
      if (!/^[+-]?\d+$/.test(value) || !Number.isSafeInteger(parsed)) throw new SettingsError('must be an integer');
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

/** Formats a duration without zero parts: `1m` instead of `1m0s`. */
const goDuration = (ms: number): string => formatDuration(ms).replace(/(?<=[hm])0[ms](?:0s)?$/, '');

/** Declares a setting in milliseconds, written as a Go duration. */
export const duration = (flag: string, fallbackMs: number, help: string): Option<number> =>
  option(flag, fallbackMs, help, {
    shown: goDuration(fallbackMs),
    flag: (value) => {
      try {
        return parseDuration(value);
      } catch {
        throw new SettingsError('must be a duration, for example 10s, 1m or 2h45m');
      }
    },
  });

export const environmentName = (flag: string): string => flag.toUpperCase().replaceAll('-', '_');
