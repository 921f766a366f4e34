/** Ways to corrupt any response of AWS. */
import type { ProxiedRequest, Spoiled } from './rewriting-proxy.ts';

/** Corrupts the responses of one call. State is shared between the pages of one result. */
export type Spoiling = (request: ProxiedRequest) => Spoiled | undefined;

/** Returns the name of a call. */
export function operationOf({ headers, body, url }: ProxiedRequest): string {
  const target = headers['x-amz-target'];
  if (target !== undefined) return String(target).split('.').at(-1) ?? '';
  return /(?:^|&)Action=(\w+)/.exec(body)?.[1] ?? (url.startsWith('/clusters/') ? 'DescribeCluster' : url);
}

const isJson = (text: string): boolean => text.startsWith('{');
const isRequestForJson = ({ headers }: ProxiedRequest): boolean => headers['x-amz-target'] !== undefined;

const TOP_LEVEL = /(<\w+Response[^>]*>).*(<\/\w+Response>)/s;
const LEAF = /<(\w+)>([^<>]*)<\/\1>/g;
const LIST = /<(\w+Set|securityGroupInfo|launchTemplates|Roles|InstanceProfiles)>.*<\/\1>/gs;
/** Pattern of fields that identify a resource. */
const IDENTITY = /<(\w*[iI]d|\w*Name|name|code|key|status|strategy|SubnetId)>[^<>]*<\/\1>/g;

/** Replaces each leaf of a JSON text. */
const leaves = (text: string, leaf: (value: unknown) => unknown): string => {
  const walk = (value: unknown): unknown => {
    if (Array.isArray(value)) return value.map(walk);
    if (typeof value !== 'object' || value === null) return leaf(value);
    return Object.fromEntries(Object.entries(value).map(([key, each]) => [key, walk(each)]));
  };
  return JSON.stringify(walk(JSON.parse(text)));
};
const lists = (text: string): string =>
  JSON.stringify(JSON.parse(text), (_, value) => (Array.isArray(value) ? 'none' : value));
/** Inserts a number that JSON.stringify cannot write. */
const number = (text: string, value: string): string => leaves(text, () => '@').replaceAll('"@"', value);

const changed = (xml: (text: string) => string, json: (text: string) => string): Spoiling => {
  const change = (text: string): string => (isJson(text) ? json(text) : xml(text));
  return () => ({ kind: 'changed', change });
};

const withToken = (text: string, token: string): string => {
  if (isJson(text)) return JSON.stringify({ ...JSON.parse(text), NextToken: token });
  if (text.includes('Result>'))
    return text
      .replace(/<IsTruncated>\w+<\/IsTruncated>/, '')
      .replace(/(<\w+Result>)/, `$1<IsTruncated>true</IsTruncated><Marker>${token}</Marker>`);
  return text
    .replace(/<nextToken>[^<]*<\/nextToken>/, '')
    .replace(/(<\w+Response[^>]*>)/, `$1<nextToken>${token}</nextToken>`);
};
const emptied = (text: string): string => (isJson(text) ? text.replace(/\[.*\]/s, '[]') : text.replace(LIST, '<$1/>'));

const PAGED =
  /^(DescribeImages|DescribeSubnets|DescribeSecurityGroups|DescribeInstances|DescribeInstanceStatus|ListInstanceProfiles|DescribeCapacityReservations)$/;
const TOKEN = /(?:NextToken|Marker)["=: ]*spoilt/;

/** Changes the first page with `first` and replaces later pages with `next`. */
const paged = (first: (page: string) => string, next: (page: string) => string): Spoiling => {
  let page = '';
  return (request) => {
    if (!PAGED.test(operationOf(request))) return undefined;
    if (TOKEN.test(request.body)) return { kind: 'instead', status: 200, body: next(page) };
    const change = (text: string): string => {
      page = text;
      return first(text);
    };
    return { kind: 'changed', change };
  };
};

/** Larger than the operator's limit of pages. */
const MANY_PAGES = 510;

/** Returns lists without an end, until the operator has requested enough pages of them. */
function endless(): Spoiling {
  let number = 0;
  const page = (text: string): string => withToken(text, `spoilt-${number++}`);
  const spoil = paged(page, page);
  return (request) => (number > MANY_PAGES && !TOKEN.test(request.body) ? undefined : spoil(request));
}

const throttle: Spoiling = (request) => ({
  kind: 'instead',
  status: 400,
  body: isRequestForJson(request)
    ? '{"__type":"ThrottlingException","message":"no"}'
    : '<Response><Errors><Error><Code>RequestLimitExceeded</Code><Message>no</Message></Error></Errors></Response>',
});

const same = (text: string): string => withToken(text, 'spoilt');

/** Kinds of corruption. Each function returns a new instance, because it depends on earlier responses. */
export const KINDS: Readonly<Record<string, () => Spoiling>> = {
  'nothing in it': () =>
    changed(
      (text) => text.replace(TOP_LEVEL, '$1<requestId>1</requestId>$2'),
      () => '{}',
    ),
  'null in every field': () =>
    changed(
      (text) => text.replace(LEAF, '<$1/>'),
      (text) => leaves(text, () => null),
    ),
  '-1e999 in every field': () =>
    changed(
      (text) => text.replace(LEAF, '<$1>-1e999</$1>'),
      (text) => number(text, '-1e999'),
    ),
  '1e308 in every field': () =>
    changed(
      (text) => text.replace(LEAF, '<$1>1e308</$1>'),
      (text) => number(text, '1e308'),
    ),
  'structures for texts': () =>
    changed(
      (text) => text.replace(LEAF, '<$1><a>1</a></$1>'),
      (text) => leaves(text, () => ({ a: 1 })),
    ),
  'texts for lists': () => changed((text) => text.replace(LIST, '<$1>none</$1>'), lists),
  'fields missing': () =>
    changed(
      (text) => text.replace(IDENTITY, ''),
      (text) => leaves(text, () => undefined),
    ),
  'an empty page and a token': () =>
    paged(
      (page) => same(emptied(page)),
      (page) => page,
    ),
  'pages without end': endless,
  'one token for ever': () => paged(same, same),
  'answers that are late': () => () => ({ kind: 'late', ms: 100 }),
  'answers that are cut off': () => () => ({ kind: 'cut', share: 0.5 }),
  'answers that get stuck': () => () => ({ kind: 'stuck', share: 0.5 }),
  throttles: () => throttle,
};

/** Kinds that cause no failure. */
const HARMLESS: ReadonlySet<string> = new Set([
  'an empty page and a token',
  'answers that are late',
  'answers that get stuck',
]);
const OF_PAGES: ReadonlySet<string> = new Set(['an empty page and a token', 'pages without end', 'one token for ever']);

export const isStuck = (kind: string): boolean => kind === 'answers that get stuck';
export const isHarmful = (kind: string): boolean => !HARMLESS.has(kind);
export const isFor = (kind: string, operation: string): boolean => !OF_PAGES.has(kind) || PAGED.test(operation);
