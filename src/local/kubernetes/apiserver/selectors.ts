/** Label and field selectors, in queries and in specs. */
import type { LabelSelector, StringMap } from '#api/objects';
import { selects } from '#engine/model';
import { own } from '#lib';
import { labelValueError } from './admission/names.ts';
import type { ApiObject } from './json.ts';
import { at, list, record, records, text } from './json.ts';
import type { Resource } from './resources/registry.ts';
import { badRequest } from './status.ts';

type Labels = Readonly<Record<string, unknown>>;
type Match = (labels: Labels) => boolean;

const KEY = /^([A-Za-z0-9]([-A-Za-z0-9.]*[A-Za-z0-9])?\/)?[A-Za-z0-9]([-A-Za-z0-9_.]*[A-Za-z0-9])?$/;

function checkedKey(key: string): string {
  if (!KEY.test(key))
    throw badRequest(
      `unable to parse requirement: <nil>: Invalid value: ${JSON.stringify(key)}: name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character`,
    );
  return key;
}

function requirement(part: string): Match {
  const set = /^(\S+)\s+(in|notin)\s*\(([^)]*)\)$/.exec(part);
  if (set) {
    const key = checkedKey(set[1] ?? '');
    const values = new Set((set[3] ?? '').split(',').map((value) => checkedValue(value.trim())));
    return set[2] === 'in'
      ? (labels) => Object.hasOwn(labels, key) && values.has(text(own(labels, key)))
      : (labels) => !Object.hasOwn(labels, key) || !values.has(text(own(labels, key)));
  }
  const compared = /^([^=!<>\s]+)\s*(==|=|!=|<|>)(.*)$/.exec(part);
  if (compared)
    return comparison(checkedKey(compared[1] ?? ''), compared[2] ?? '', checkedValue((compared[3] ?? '').trim()));
  if (part.startsWith('!')) {
    const key = checkedKey(part.slice(1).trim());
    return (labels) => !Object.hasOwn(labels, key);
  }
  const key = checkedKey(part);
  return (labels) => Object.hasOwn(labels, key);
}

const parseError = (why: string): Error => badRequest(`unable to parse requirement: ${why}`);

function checkedValue(value: string): string {
  const wrong = labelValueError(value);
  if (wrong) throw parseError(`values[0][key]: Invalid value: ${JSON.stringify(value)}: ${wrong}`);
  return value;
}

function comparison(key: string, operator: string, value: string): Match {
  if (operator === '!=') return (labels) => own(labels, key) !== value;
  if (operator === '>' || operator === '<') {
    const bound = Number(value);
    if (!Number.isInteger(bound) || value === '')
      throw parseError(`for '>', '<' operators, the value must be an integer`);
    return (labels) =>
      Object.hasOwn(labels, key) &&
      (operator === '>' ? Number(own(labels, key)) > bound : Number(own(labels, key)) < bound);
  }
  return (labels) => own(labels, key) === value;
}

/** Splits at commas outside parentheses. */
function parts(selector: string): string[] {
  if (selector.trim() === '') return [];
  const found: string[] = [];
  let start = 0;
  let isInside = false;
  for (let at = 0; at < selector.length; at++) {
    if (selector[at] === '(') isInside = true;
    else if (selector[at] === ')') isInside = false;
    else if (selector[at] === ',' && !isInside) {
      found.push(selector.slice(start, at).trim());
      start = at + 1;
    }
  }
  return [...found, selector.slice(start).trim()];
}

/**
 * Compiles a query's `labelSelector`.
 *
 * @returns undefined if it selects everything
 * @throws StatusError 400 if it cannot be parsed
 */
export function labelSelector(selector: string | undefined): Match | undefined {
  const matches = parts(selector ?? '').map(requirement);
  if (matches.length === 0) return undefined;
  return (labels) => matches.every((match) => match(labels));
}

/** Compiles a LabelSelector object. An undefined selector selects nothing, an empty selector everything. */
export const objectSelector =
  (selector: unknown): Match =>
  (labels) =>
    selects((selector ?? undefined) as LabelSelector | undefined, labels as StringMap);

/** Formats a LabelSelector object as text, as in the status of a Scale. */
export function selectorText(selector: unknown): string {
  const { matchLabels, matchExpressions } = record(selector);
  const equalities = Object.entries(record(matchLabels)).map(([key, value]) => `${key}=${text(value)}`);
  const expressions = records(matchExpressions).map(({ key, operator, values }) => {
    if (operator === 'Exists') return text(key);
    if (operator === 'DoesNotExist') return `!${text(key)}`;
    return `${text(key)} ${operator === 'In' ? 'in' : 'notin'} (${list(values).join(',')})`;
  });
  return [...equalities.sort(), ...expressions].join(',');
}

/** Values for selectors of fields that may be missing. */
const FIELD_DEFAULTS: Readonly<Record<string, string>> = { 'spec.unschedulable': 'false', 'spec.hostNetwork': 'false' };

function fieldOf(object: ApiObject, path: string): string {
  const value = path === 'source' ? at(object, 'source', 'component') : at(object, ...path.split('.'));
  if (value === undefined || value === null) return own(FIELD_DEFAULTS, path) ?? '';
  return String(value);
}

/**
 * Compiles a query's `fieldSelector` for a resource.
 *
 * @returns undefined if it selects everything
 * @throws StatusError 400 if the resource does not support a field of the selector
 */
export function fieldSelector(
  selector: string | undefined,
  resource: Resource,
): ((object: ApiObject) => boolean) | undefined {
  const terms = parts(selector ?? '')
    .filter((part) => part !== '')
    .map((part) => fieldTerm(part, resource));
  if (terms.length === 0) return undefined;
  return (object) => terms.every((matches) => matches(object));
}

function fieldTerm(part: string, resource: Resource): (object: ApiObject) => boolean {
  const parsed = /^([^=!]+)(==|=|!=)(.*)$/.exec(part);
  if (!parsed) throw badRequest(`invalid selector: '${part}'; can't understand '${part}'`);
  const [, path = '', operator, value = ''] = parsed;
  // Cluster-scoped built-in resources support this field, cluster-scoped custom resources do not.
  const placed = resource.namespaced || resource.model !== undefined ? ['metadata.namespace'] : [];
  const known = ['metadata.name', ...placed, ...resource.selectableFields];
  if (!known.includes(path)) {
    throw badRequest(
      resource.model !== undefined && resource.selectableFields.length === 0
        ? `${JSON.stringify(path)} is not a known field selector: only "metadata.name", "metadata.namespace"`
        : `field label not supported: ${path}`,
    );
  }
  const wanted = operator !== '!=';
  return (object) => (fieldOf(object, path) === value) === wanted;
}
