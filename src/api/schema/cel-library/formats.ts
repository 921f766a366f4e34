/** Named formats of the Common Expression Language, as Kubernetes has them: `format.dns1123Label().validate('…')`. */
import { type Environment, Optional } from '@marcbachmann/cel-js';

/** The value of `format.uuid()` and the like. */
class CelFormat {
  /** What is wrong with a text, nothing where it is right. */
  readonly problems: (text: string) => readonly string[];

  constructor(problems: (text: string) => readonly string[]) {
    this.problems = problems;
  }
}

/** What `format.named` is called on. */
class FormatFunctions {}

const LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;
const LABEL_1035 = /^[a-z]([-a-z0-9]*[a-z0-9])?$/;
const SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
const QUALIFIED = /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/;
const LABEL_TEXT =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character";
const LABEL_1035_TEXT =
  "a DNS-1035 label must consist of lower case alphanumeric characters or '-', start with an alphabetic character, and end with an alphanumeric character";
const SUBDOMAIN_TEXT =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character";
const QUALIFIED_TEXT =
  "must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character";

const bytes = (text: string): number => new TextEncoder().encode(text).length;

const within =
  (pattern: RegExp, most: number, why: string) =>
  (text: string): readonly string[] => [
    ...(bytes(text) > most ? [`must be no more than ${most} bytes`] : []),
    ...(pattern.test(text) ? [] : [why]),
  ];

/** A name to which Kubernetes adds something may end in a dash. */
const prefix =
  (problems: (text: string) => readonly string[]) =>
  (text: string): readonly string[] =>
    problems(text.length > 1 && text.endsWith('-') ? `${text.slice(0, -1)}a` : text);

const label = within(LABEL, 63, LABEL_TEXT);
const label1035 = within(LABEL_1035, 63, LABEL_1035_TEXT);
const subdomain = within(SUBDOMAIN, 253, SUBDOMAIN_TEXT);

function qualifiedName(text: string): readonly string[] {
  const parts = text.split('/');
  const name = parts.at(-1) ?? '';
  if (parts.length > 2)
    return [
      `a qualified name ${QUALIFIED_TEXT} with an optional DNS subdomain prefix and '/' (e.g. 'example.com/MyName')`,
    ];
  const [before] = parts;
  const ofPrefix = parts.length === 1 ? [] : before === '' ? ['must be non-empty'] : subdomain(before ?? '');
  const ofName = name === '' ? ['must be non-empty'] : within(QUALIFIED, 63, QUALIFIED_TEXT)(name);
  return [...ofPrefix.map((why) => `prefix part ${why}`), ...ofName.map((why) => `name part ${why}`)];
}

const labelValue = (text: string): readonly string[] =>
  text === ''
    ? []
    : within(QUALIFIED, 63, `a valid label must be an empty string or ${QUALIFIED_TEXT.replace('must ', '')}`)(text);

const matching =
  (pattern: RegExp, why: string) =>
  (text: string): readonly string[] =>
    pattern.test(text) ? [] : [why];

function isDate(text: string): boolean {
  const [whole, year = '', month = '', day = ''] = /^(\d{4})-(\d\d)-(\d\d)$/.exec(text) ?? [];
  const date = new Date(0);
  date.setUTCFullYear(Number(year), Number(month) - 1, Number(day));
  return whole !== undefined && date.getUTCMonth() === Number(month) - 1 && date.getUTCDate() === Number(day);
}

const TIME = /^[tT ](?:[01]\d|2[0-3]):[0-5]\d:[0-5]\d(?:\.\d+)?(?:[zZ]|[+-](?:[01]\d|2[0-3]):?[0-5]\d)$/;

/** @param isUrl of the URLs of the same language */
const formats = (isUrl: (text: string) => boolean): ReadonlyMap<string, CelFormat> =>
  new Map(
    Object.entries({
      dns1123Label: label,
      dns1123Subdomain: subdomain,
      dns1035Label: label1035,
      qualifiedName,
      dns1123LabelPrefix: prefix(label),
      dns1123SubdomainPrefix: prefix(subdomain),
      dns1035LabelPrefix: prefix(label1035),
      labelValue,
      uri: (text: string) => (isUrl(text) ? [] : ['invalid URI for request']),
      uuid: matching(
        /^[0-9a-fA-F]{8}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{4}-?[0-9a-fA-F]{12}$/,
        'does not match the UUID format',
      ),
      byte: matching(
        /^(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=|[A-Za-z0-9+/]{4})$/,
        'invalid base64',
      ),
      date: (text: string) => (isDate(text) ? [] : ['invalid date']),
      datetime: (text: string) => (isDate(text.slice(0, 10)) && TIME.test(text.slice(10)) ? [] : ['invalid datetime']),
    }).map(([name, problems]) => [name, new CelFormat(problems)]),
  );

export function registerFormats(environment: Environment, isUrl: (text: string) => boolean): void {
  const known = formats(isUrl);
  environment
    .registerType('kubernetes.NamedFormat', { ctor: CelFormat, fields: {} })
    .registerType('FormatFunctions', { ctor: FormatFunctions, fields: {} })
    .registerConstant('format', 'FormatFunctions', new FormatFunctions())
    .registerFunction('FormatFunctions.named(string): optional<kubernetes.NamedFormat>', (_: unknown, name: string) => {
      const found = known.get(name);
      return found === undefined ? Optional.none() : Optional.of(found);
    })
    .registerFunction(
      'kubernetes.NamedFormat.validate(string): optional<list<string>>',
      ({ problems }: CelFormat, text: string) => {
        const found = problems(text);
        return found.length === 0 ? Optional.none() : Optional.of(found);
      },
    );
  for (const [name, format] of known)
    environment.registerFunction(`FormatFunctions.${name}(): kubernetes.NamedFormat`, () => format);
}
