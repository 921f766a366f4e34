/** Reads typed values from the output of other tools. */
import type { Field } from '#lib';

export const textOf = (field: Field): string | undefined => field.given?.text();

/** Reads text that users often forget to quote in YAML, such as account IDs and versions. */
export const looseTextOf = (field: Field): string | undefined =>
  ['number', 'boolean'].includes(typeof field.value) ? String(field.value) : textOf(field);

export const textsOf = (field: Field): readonly string[] => field.items().map((item) => item.text());

/** Reads a map of texts. Converts numbers and booleans to text. */
export const mapOf = (field: Field): Readonly<Record<string, string>> =>
  Object.fromEntries(field.keys().map((key) => [key, looseTextOf(field.at(key)) ?? '']));

/** Returns the name at the end of an IAM ARN: `arn:aws:iam::1:role/path/name`. */
export const nameOfArn = (arn: string): string => arn.slice(arn.lastIndexOf('/') + 1);
