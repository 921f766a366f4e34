/** Values of fields of what other tools print, each of the type that it must have. */
import type { Field } from '../../../lib/field.ts';

export const textOf = (field: Field): string | undefined => field.given?.text();

/** Numbers of YAML, where people forget quotes: account IDs and versions. */
export const looseTextOf = (field: Field): string | undefined =>
  ['number', 'boolean'].includes(typeof field.value) ? String(field.value) : textOf(field);

export const textsOf = (field: Field): readonly string[] => field.items().map((item) => item.text());

/** A map of texts; numbers and truth values count as the texts that they are. */
export const mapOf = (field: Field): Readonly<Record<string, string>> =>
  Object.fromEntries(field.keys().map((key) => [key, looseTextOf(field.at(key)) ?? '']));

/** The name at the end of an ARN of IAM: `arn:aws:iam::1:role/path/name`. */
export const nameOfArn = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);
