/** Reads command line flags like Go's flag package: one or two dashes, `--x=y` or `--x y`. */
import { messageOf, quoted } from '#lib';
import { environmentName, type Option, SettingsError } from './options.ts';

// biome-ignore lint/suspicious/noExplicitAny: options of different types share one table
type OptionTable = Readonly<Record<string, Option<any>>>;

export type Values<Table extends OptionTable> = {
  readonly [Name in keyof Table]: Table[Name] extends Option<infer T> ? T : never;
};

/** Thrown for `-h` and `--help`; its message is the usage text, and the process ends with code 0. */
export class HelpRequested extends Error {
  constructor(usage: string) {
    super(usage);
    this.name = 'HelpRequested';
  }
}

/**
 * Returns the value of each option. A flag takes precedence over the environment, and the environment over the default. If
 * a flag is repeated, its last value is used.
 * @throws SettingsError with the flag if an argument is invalid, or HelpRequested for `-h` and `--help`
 */
export function readOptions<Table extends OptionTable>(
  table: Table,
  argv: readonly string[],
  env: Readonly<Record<string, string | undefined>>,
): Values<Table> {
  const values = new Map<string, unknown>();
  for (const [name, { flag, fallback, fromEnv }] of Object.entries(table)) {
    const found = env[environmentName(flag)] ?? '';
    values.set(name, (found === '' ? undefined : fromEnv(found)) ?? fallback);
  }
  const byFlag = new Map(Object.entries(table).map(([name, option]) => [option.flag, { name, option }]));

  const rest = [...argv];
  for (let argument = rest.shift(); argument !== undefined && argument !== '--'; argument = rest.shift()) {
    const { flag, inline } = splitArgument(argument);
    if (flag === 'h' || flag === 'help') throw new HelpRequested(usage(table));
    const known = byFlag.get(flag);
    if (known === undefined) throw new SettingsError(`flag provided but not defined: -${unquotedFlag(flag)}`);
    const value = inline ?? (known.option.isSwitch ? 'true' : rest.shift());
    if (value === undefined) throw new SettingsError(`flag needs an argument: -${flag}`);
    values.set(known.name, parse(known.option, value));
  }
  return Object.fromEntries(values) as Values<Table>;
}

/** Returns a short form of the flag without quotes, because Go prints flags without quotes. */
const unquotedFlag = (flag: string): string => quoted(flag).replace(/^"([^"\\]*)"$/, '$1');

function splitArgument(argument: string): { readonly flag: string; readonly inline: string | undefined } {
  const match = /^--?([^-=][^=]*)(?:=(.*))?$/s.exec(argument);
  if (!match?.[1])
    throw new SettingsError(`unexpected argument ${quoted(argument)}, use flags of the form --name=value`);
  return { flag: match[1], inline: match[2] };
}

function parse<T>(option: Option<T>, value: string): T {
  try {
    return option.fromFlag(value);
  } catch (error) {
    const why = messageOf(error);
    throw new SettingsError(`invalid value ${quoted(value)} for flag -${option.flag}: ${why}`);
  }
}

function usage(table: OptionTable): string {
  const lines = Object.values(table).map(({ flag, shown, help }) => {
    const byDefault = shown === '' ? '' : ` (default ${shown})`;
    return `  --${flag}\n    \t${help}, env ${environmentName(flag)}${byDefault}`;
  });
  return ['Usage of karpenter:', ...lines].join('\n');
}
