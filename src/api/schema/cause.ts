/** Reasons for which the API server rejects an object, with its texts. */

/** Entry of `details.causes` in an error response. `field` is a path such as `spec.weight`, or `<nil>`. */
export interface Cause {
  readonly field: string;
  readonly reason: string;
  readonly message: string;
}

export const NO_FIELD = '<nil>';

/** Formats a value for messages. */
export const show = (value: unknown): string => JSON.stringify(value) ?? 'null';

export const invalid = (field: string, value: unknown, detail: string): Cause => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${show(value)}: ${detail}`,
});

/** Returns the cause for an invalid value that is too large for messages. */
export const invalidWhole = (field: string, detail: string): Cause => ({
  field,
  reason: 'FieldValueInvalid',
  message: `Invalid value: ${detail}`,
});

export const typeInvalid = (field: string, value: unknown, detail: string): Cause => ({
  field,
  reason: 'FieldValueTypeInvalid',
  message: `Invalid value: ${show(value)}: ${detail}`,
});

export const requiredValue = (field: string, detail = ''): Cause => ({
  field,
  reason: 'FieldValueRequired',
  message: detail === '' ? 'Required value' : `Required value: ${detail}`,
});

export const notSupported = (field: string, value: unknown, supported: readonly unknown[]): Cause => ({
  field,
  reason: 'FieldValueNotSupported',
  message: `Unsupported value: ${show(value)}: supported values: ${supported.map(show).join(', ')}`,
});

export const tooLong = (field: string, limit: number): Cause => ({
  field,
  reason: 'FieldValueTooLong',
  message: `Too long: may not be more than ${limit} bytes`,
});

export const tooMany = (field: string, count: number, limit: number): Cause => ({
  field,
  reason: 'FieldValueTooMany',
  message: `Too many: ${count}: must have at most ${limit} items`,
});

export const duplicate = (field: string, value: string): Cause => ({
  field,
  reason: 'FieldValueDuplicate',
  message: `Duplicate value: ${value}`,
});

const BLOCKING = new Set([
  'FieldValueNotSupported',
  'FieldValueRequired',
  'FieldValueTooLong',
  'FieldValueTooMany',
  'FieldValueTypeInvalid',
]);

/** Returns true if rules cannot be evaluated safely on an object with this error. */
export const blocksRules = (cause: Cause): boolean => BLOCKING.has(cause.reason);

export const RULES_NOT_CHECKED: Cause = invalid(
  NO_FIELD,
  null,
  'some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
);
