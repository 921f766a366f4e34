/** Values of fields of what other tools print, each of the type that it must have. */
import type { Field } from '../../objects/check.ts';

export const textOf = (field: Field): string | undefined =>
  field.isMissing ? undefined : (field.text().value as string);

/** Numbers of YAML, where people forget quotes: account IDs and versions. */
export const looseTextOf = (field: Field): string | undefined =>
  ['number', 'boolean'].includes(typeof field.value) ? String(field.value) : textOf(field);

export const countOf = (field: Field): number | undefined =>
  field.isMissing ? undefined : (field.count().value as number);

export function flagOf(field: Field): boolean | undefined {
  if (field.isMissing) return undefined;
  if (typeof field.value !== 'boolean') field.fail(`must be true or false, not ${JSON.stringify(field.value)}`);
  return field.value as boolean;
}

export const textsOf = (field: Field): readonly string[] =>
  field.items().map((item) => item.required().text().value as string);

/** A map of texts; numbers and truth values count as the texts that they are. */
export const mapOf = (field: Field): Readonly<Record<string, string>> =>
  Object.fromEntries(keysOf(field).map((key) => [key, looseTextOf(field.at(key)) ?? '']));

export const keysOf = (field: Field): readonly string[] =>
  field.isMissing ? [] : Object.keys(field.object().value as object);

/** The name at the end of an ARN of IAM: `arn:aws:iam::1:role/path/name`. */
export const nameOfArn = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);
