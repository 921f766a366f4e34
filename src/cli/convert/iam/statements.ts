/** Parses, compares and matches statements of IAM policies. */

import { type Field, own } from '#lib';
import { fieldIn } from '../../objects/check.ts';

type OneOrMore = string | readonly string[];

type Conditions = Readonly<Record<string, Readonly<Record<string, OneOrMore>>>>;

export interface Statement {
  readonly Sid?: string;
  readonly Effect: 'Allow' | 'Deny';
  readonly Action?: OneOrMore;
  readonly NotAction?: OneOrMore;
  readonly Resource?: OneOrMore;
  readonly NotResource?: OneOrMore;
  readonly Condition?: Conditions;
}

export interface PolicyDocument {
  readonly Version: string;
  readonly Statement: readonly Statement[];
}

/** Statement and its place in the input. */
export interface SourceStatement {
  readonly statement: Statement;
  /** Place in error messages: `policy.json, document 1, Statement[2] (ConditionalEC2Termination)`. */
  readonly where: string;
}

/** Returns values as texts, because IAM treats numbers and booleans in conditions as text. */
export const listOf = (value: OneOrMore | undefined | null): readonly string[] =>
  value === undefined || value === null ? [] : [value].flat().map(String);

export const actionsOf = ({ Action }: Statement): readonly string[] => listOf(Action);
export const statementResources = ({ Resource }: Statement): readonly string[] => listOf(Resource);

/** Returns operator, key and values of each condition. */
export const conditionsOf = ({
  Condition = {},
}: Statement): readonly (readonly [string, string, readonly string[]])[] =>
  Object.entries(Condition).flatMap(([operator, keys]) =>
    Object.entries(keys).map(([key, values]) => [operator, key, listOf(values)] as const),
  );

/**
 * Parses the statements of a policy document.
 *
 * @throws InputError with the field that IAM would reject
 */
export function statementsIn(document: unknown, where: string): readonly SourceStatement[] {
  const field = fieldIn(where, document).at('Statement').required();
  const list = Array.isArray(field.value) ? field.items() : [field];
  return list.map((item, index) => {
    const sid = item.at('Sid').given?.text();
    checkStatement(item);
    const place = Array.isArray(field.value) ? `Statement[${index}]` : 'Statement';
    const shown = sid ? `${place} (${sid})` : place;
    return { statement: item.value as Statement, where: `${where}, ${shown}` };
  });
}

function checkStatement(field: Field): void {
  field.object().at('Effect').oneOf('Allow', 'Deny');
  for (const name of ['Action', 'NotAction', 'Resource', 'NotResource']) checkTexts(field.at(name));
  if (field.at('Action').isMissing && field.at('NotAction').isMissing) field.at('Action').required();
  const condition = field.at('Condition');
  for (const operator of condition.keys()) {
    const keys = condition.at(operator).required();
    for (const key of keys.keys()) checkValues(keys.at(key));
  }
}

/** Checks that a value is a text or a list of texts. */
function checkTexts(field: Field): void {
  if (Array.isArray(field.value)) for (const item of field.items()) item.text();
  else field.given?.text();
}

function checkValues(field: Field): void {
  for (const item of Array.isArray(field.value) ? field.items() : [field])
    if (typeof item.value !== 'number' && typeof item.value !== 'boolean') item.text();
}

/**
 * Returns true if a pattern with `*` and `?` covers a text or another pattern. Used for actions, resources and
 * condition values.
 */
export function covers(pattern: string, text: string, isCaseSensitive = true): boolean {
  const [wild, plain] = isCaseSensitive ? [pattern, text] : [pattern.toLowerCase(), text.toLowerCase()];
  let [at, from, star, mark] = [0, 0, -1, 0];
  while (from < plain.length) {
    if (at < wild.length && wild[at] !== '*' && (wild[at] === '?' || wild[at] === plain[from])) {
      at++;
      from++;
    } else if (wild[at] === '*') {
      star = at++;
      mark = from;
    } else if (star >= 0) {
      at = star + 1;
      from = ++mark;
    } else return false;
  }
  while (wild[at] === '*') at++;
  return at === wild.length;
}

export const coversAction = (pattern: string, action: string): boolean => covers(pattern, action, false);

/** Returns true if two statements have the same resources and conditions, in any order. */
export const sameScope = (a: Statement, b: Statement): boolean =>
  sortTexts(statementResources(a)) === sortTexts(statementResources(b)) && scopeText(a) === scopeText(b);

const sortTexts = (texts: readonly string[]): string => [...texts].sort().join('\n');

const scopeText = (statement: Statement): string =>
  sortTexts(conditionsOf(statement).map(([operator, key, values]) => `${operator} ${key} ${sortTexts(values)}`));

/** Returns the values of a condition key for any operator. */
export const conditionValues = ({ Condition = {} }: Statement, key: string): readonly string[] =>
  Object.values(Condition).flatMap((keys) => listOf(own(keys, key)));
