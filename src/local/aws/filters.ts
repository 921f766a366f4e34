/** Filters, wildcards and pagination of EC2's Describe calls. */
import type { Filter } from '@aws-sdk/client-ec2';
import { own } from '#lib';
import type { Tags } from './types.ts';
import { AwsError } from './wire/error.ts';

/**
 * Functions that return the value of a filter. Undefined means that the object has no such value and does not match.
 */
export type FilterFields<T> = Readonly<Record<string, (item: T) => string | readonly string[] | undefined>>;

const WILD = /[*?\\]/;
/** Maximum number of filter values in one request of EC2. */
const MAX_FILTER_VALUES = 200;

/**
 * Returns the items that match every filter. A filter matches if any of its values matches. `*` and `?` are wildcards,
 * and a backslash escapes them.
 * @param tagsOf returns the tags of an object for `tag:<key>`, `tag-key` and `tag-value`
 * @throws AwsError InvalidParameterValue for an unknown filter name, or FilterLimitExceeded
 */
export function applyFilters<T>(
  items: readonly T[],
  filters: readonly Filter[] | undefined,
  fields: FilterFields<T>,
  tagsOf?: (item: T) => Tags,
): readonly T[] {
  if (!filters || filters.length === 0) return items;
  const count = filters.reduce((sum, filter) => sum + (filter.Values?.length ?? 0), 0);
  if (count > MAX_FILTER_VALUES) {
    throw new AwsError('FilterLimitExceeded', `The maximum number of filter values specified on a single call is 200`);
  }
  const tests = filters.map((filter) => filterTest(filter, fields, tagsOf));
  return items.filter((item) => tests.every((test) => test(item)));
}

function filterTest<T>(
  { Name: name, Values: values }: Filter,
  fields: FilterFields<T>,
  tagsOf: ((item: T) => Tags) | undefined,
): (item: T) => boolean {
  if (!name) throw new AwsError('InvalidParameterValue', 'The filter name must not be empty');
  if (!values) throw new AwsError('InvalidParameterValue', `The filter '${name}' has no values`);
  const read = own(fields, name) ?? (tagsOf && tagField(name, tagsOf));
  if (!read) throw new AwsError('InvalidParameterValue', `The filter '${name}' is invalid`);
  const matches = anyOf(values);
  return (item) => {
    const found = read(item);
    if (found === undefined) return false;
    return typeof found === 'string' ? matches(found) : found.some(matches);
  };
}

/** Returns a test for any of the values. Most values are not patterns. */
function anyOf(values: readonly string[]): (text: string) => boolean {
  if (!values.some((value) => WILD.test(value))) {
    const [only] = values;
    return values.length === 1 ? (text) => text === only : (text) => values.includes(text);
  }
  const patterns = values.map(wildcard);
  return (text) => patterns.some((fits) => fits(text));
}

function tagField<T>(
  name: string,
  tagsOf: (item: T) => Tags,
): ((item: T) => string | string[] | undefined) | undefined {
  if (name.startsWith('tag:')) return (item) => own(tagsOf(item), name.slice('tag:'.length));
  if (name === 'tag-key') return (item) => Object.keys(tagsOf(item));
  if (name === 'tag-value') return (item) => Object.values(tagsOf(item));
  return undefined;
}

/** Returns a case-sensitive test for a pattern. `*` matches any text, and `?` matches one character. */
export function wildcard(pattern: string): (text: string) => boolean {
  if (!WILD.test(pattern)) return (text) => text === pattern;
  const tokens = [...pattern.matchAll(/\\[*?\\]|./gs)].map(([token]) => token);
  return (text) => isMatch(tokens, text);
}

/** Backtracks only to the last `*`, so the time is limited to the product of both lengths. */
function isMatch(tokens: readonly string[], text: string): boolean {
  let [at, token] = [0, 0];
  let star: { readonly token: number; at: number } | undefined;
  while (at < text.length) {
    const wanted = tokens[token];
    if (wanted === '*') {
      star = { token, at };
      token += 1;
    } else if (wanted === '?' || wanted?.at(-1) === text[at]) {
      at += 1;
      token += 1;
    } else if (star !== undefined) {
      star.at += 1;
      at = star.at;
      token = star.token + 1;
    } else return false;
  }
  return tokens.slice(token).every((rest) => rest === '*');
}

export interface PageRequest {
  readonly MaxResults?: number | undefined;
  readonly NextToken?: string | undefined;
}

export interface PageLimits {
  readonly min?: number;
  readonly max: number;
  /** Page size of requests without a size. Absent means all items. */
  readonly fallback?: number;
}

/**
 * Returns one page. The token contains the offset of the next page.
 * @throws AwsError InvalidParameterValue (page size), InvalidNextToken
 */
export function page<T>(
  items: readonly T[],
  { MaxResults: size, NextToken: token }: PageRequest,
  { min = 1, max, fallback = Number.POSITIVE_INFINITY }: PageLimits,
): { readonly items: T[]; readonly next: string | undefined } {
  if (size !== undefined && (size < min || size > max)) {
    throw new AwsError(
      'InvalidParameterValue',
      `Value ( ${size} ) for parameter maxResults is invalid. Expecting a value between ${min} and ${max}.`,
    );
  }
  const start = token ? offsetOf(token) : 0;
  const end = start + (size ?? fallback);
  const next = end < items.length ? Buffer.from(`next:${end}`).toString('base64url') : undefined;
  return { items: items.slice(start, end), next };
}

function offsetOf(token: string): number {
  const match = /^next:(\d+)$/.exec(Buffer.from(token, 'base64url').toString());
  if (!match) throw new AwsError('InvalidNextToken', `The token '${token}' is invalid`);
  return Number(match[1]);
}
