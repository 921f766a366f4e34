/** Output formats of commands. */
import { Option } from 'commander';

export type Format = 'table' | 'json' | 'yaml';

export const outputOption = (): Option =>
  new Option('-o, --output <format>', 'output format').choices(['table', 'json', 'yaml']).default('table');

/** Prints a value as JSON or YAML, or as a table that `text` renders. */
export async function printAs<T>(
  format: Format,
  value: T,
  text: (value: T) => string | Promise<string>,
): Promise<void> {
  process.stdout.write(await formatted(format, value, text));
}

export async function formatted<T>(
  format: Format,
  value: T,
  text: (value: T) => string | Promise<string>,
): Promise<string> {
  if (format === 'json') return `${JSON.stringify(value)}\n`;
  return format === 'yaml' ? (await import('./yaml.ts')).yamlText(value) : text(value);
}
