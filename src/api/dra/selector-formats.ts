/** Functions of Kubernetes' CEL environment that format texts and validate formats. */
import { type Environment, Optional } from '@marcbachmann/cel-js';
import { charge, chargeText, isPlain, sizeOf } from '../schema/cel-cost.ts';

/** Maximum number of decimals. */
const MOST_DECIMALS = 100;
const CLAUSE = /%(?:\.(\d+))?([a-zA-Z%])/g;

function shownValue(value: unknown): string {
  if (value === null) return 'null';
  if (value instanceof Date) return timeText(value);
  if (Array.isArray(value)) return `[${value.map(shownValue).join(', ')}]`;
  const entries = value instanceof Map ? [...value] : isPlain(value) ? Object.entries(value) : undefined;
  if (entries !== undefined)
    return `{${entries
      .map((pair) => pair.map(shownValue).join(': '))
      .sort()
      .join(', ')}}`;
  if (typeof value === 'number') return numberText(value);
  if (value instanceof Uint8Array) return Buffer.from(value).toString();
  return String(value);
}

function timeText(time: Date): string {
  const milliseconds = time.getUTCMilliseconds();
  const fraction = milliseconds === 0 ? '' : String(milliseconds / 1000).slice(1);
  return `${time.toISOString().slice(0, 19)}${fraction}Z`;
}

function numberText(value: number): string {
  if (Number.isNaN(value)) return 'NaN';
  return Number.isFinite(value) ? String(value) : value > 0 ? 'Infinity' : '-Infinity';
}

function integer(value: unknown, clause: string): bigint {
  if (typeof value === 'bigint') return value;
  if (typeof value === 'boolean' && clause === 'b') return value ? 1n : 0n;
  throw new TypeError(`the clause %${clause} needs an integer`);
}

function decimal(value: unknown, clause: string): number {
  if (typeof value === 'number') return value;
  if (typeof value === 'bigint') return Number(value);
  throw new TypeError(`the clause %${clause} needs a number`);
}

function hexadecimal(value: unknown, clause: string): string {
  if (typeof value === 'string') return Buffer.from(value).toString('hex');
  if (value instanceof Uint8Array) return Buffer.from(value).toString('hex');
  return integer(value, clause).toString(16);
}

const exponential = (text: string): string => text.replace(/e([+-])(\d)$/, 'e$10$2');

const CLAUSES: Readonly<Record<string, (value: unknown, clause: string, decimals: number) => string>> = {
  s: shownValue,
  d: (value, clause) => (typeof value === 'number' ? numberText(value) : integer(value, clause).toString()),
  f: (value, clause, decimals) => decimal(value, clause).toFixed(decimals),
  e: (value, clause, decimals) => exponential(decimal(value, clause).toExponential(decimals)),
  b: (value, clause) => integer(value, clause).toString(2),
  o: (value, clause) => integer(value, clause).toString(8),
  x: hexadecimal,
  X: (value, clause) => hexadecimal(value, clause).toUpperCase(),
};

function formatText(text: string, values: readonly unknown[]): string {
  chargeText(text);
  charge(sizeOf(values));
  let at = 0;
  const result = text.replace(CLAUSE, (_, decimals: string | undefined, clause: string) => {
    if (clause === '%') return '%';
    const format = Object.hasOwn(CLAUSES, clause) ? CLAUSES[clause] : undefined;
    if (format === undefined) throw new RangeError(`unrecognized formatting clause "${clause}"`);
    if (at >= values.length) throw new RangeError(`index ${at} out of range`);
    if (Number(decimals ?? 0) > MOST_DECIMALS) throw new RangeError(`the precision exceeds ${MOST_DECIMALS}`);
    const shown = format(values[at++], clause, Number(decimals ?? 6));
    chargeText(shown);
    return shown;
  });
  return result;
}

/** Format as a value of an expression. */
class Format {
  readonly name: string;
  readonly isValid: (text: string) => boolean;

  constructor(name: string, isValid: (text: string) => boolean) {
    this.name = name;
    this.isValid = isValid;
  }
}

/** Returns a test of the length and the characters of a text, which must start and end with a letter or digit. */
const name =
  (most: number, characters: RegExp) =>
  (text: string): boolean =>
    text.length <= most && characters.test(text) && isAlphanumeric(text.at(0)) && isAlphanumeric(text.at(-1));

const isAlphanumeric = (character = ''): boolean => /^[A-Za-z0-9]$/.test(character);
const isLabel = name(63, /^[-a-z0-9]+$/);
const isPartOfSubdomain = name(253, /^[-a-z0-9]+$/);
const isSubdomain = (text: string): boolean => text.length <= 253 && text.split('.').every(isPartOfSubdomain);
const startsWithLetter = (text: string): boolean => /^[a-z]/.test(text);
const isName = name(63, /^[-A-Za-z0-9_.]+$/);

/** Returns the test of a text to which characters will be appended, so that it can end with a hyphen. */
const prefixOf =
  (isValid: (text: string) => boolean) =>
  (text: string): boolean =>
    isValid(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

function isQualifiedName(text: string): boolean {
  const [last = '', prefix, ...rest] = text.split('/').toReversed();
  return rest.length === 0 && isName(last) && (prefix === undefined || isSubdomain(prefix));
}

const within = (most: number, pattern: RegExp) => (text: string) => text.length <= most && pattern.test(text);
const isDns1035Label = (text: string): boolean => isLabel(text) && startsWithLetter(text);

const DATE = /^(\d{4})-(\d{2})-(\d{2})$/;
const TIME =
  /^(\d{4}-\d{2}-\d{2})[Tt]([01]\d|2[0-3]):[0-5]\d:([0-5]\d|60)(?:\.\d+)?(?:[Zz]|[+-]([01]\d|2[0-3]):[0-5]\d)$/;

function isDate(text: string): boolean {
  if (!DATE.test(text)) return false;
  const date = new Date(`${text}T00:00:00Z`);
  return !Number.isNaN(date.getTime()) && date.toISOString().startsWith(text);
}

const isUri = (text: string): boolean =>
  /^(?:[a-zA-Z][a-zA-Z0-9+.-]*:|\/)[^\s]*$/.test(text) && !/%(?![0-9a-fA-F]{2})/.test(text);

/** Formats by the name that Kubernetes gives them. */
const FORMATS: ReadonlyMap<string, Format> = new Map(
  (
    [
      ['dns1123Label', isLabel],
      ['dns1123Subdomain', isSubdomain],
      ['dns1035Label', isDns1035Label],
      ['qualifiedName', isQualifiedName],
      ['dns1123LabelPrefix', prefixOf(isLabel)],
      ['dns1123SubdomainPrefix', prefixOf(isSubdomain)],
      ['dns1035LabelPrefix', prefixOf(isDns1035Label)],
      ['labelValue', (text) => text === '' || isName(text)],
      ['uri', isUri],
      ['uuid', within(36, /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/)],
      ['byte', within(Number.POSITIVE_INFINITY, /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?$/)],
      ['date', isDate],
      ['datetime', (text) => isDate(TIME.exec(text)?.[1] ?? '')],
    ] satisfies readonly (readonly [string, (text: string) => boolean])[]
  ).map(([name, isValid]) => [name, new Format(name, isValid)]),
);

/** Returns the errors of a text, or no value if the text is valid. */
function validate({ name, isValid }: Format, text: string): Optional {
  chargeText(text, 5);
  return isValid(text) ? Optional.none() : Optional.of([`must be a valid ${name}`]);
}

/** Names of the functions of the namespace `format`. */
export const FORMAT_NAMES: ReadonlySet<string> = new Set([...FORMATS.keys(), 'named']);

export function registerFormats(environment: Environment): Environment {
  environment
    .registerFunction('string.format(list): string', formatText)
    .registerType('Format', { ctor: Format })
    .registerFunction('format_named(string): optional<Format>', (name: string) => {
      const found = FORMATS.get(name);
      return found === undefined ? Optional.none() : Optional.of(found);
    })
    .registerFunction('Format.validate(string): optional<list<string>>', validate);
  for (const [name, format] of FORMATS) environment.registerFunction(`format_${name}(): Format`, () => format);
  return environment;
}
