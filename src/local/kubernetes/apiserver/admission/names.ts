/** Kubernetes' rules for names, with the messages of its field errors. */
import { labelValueErrors, qualifiedNameErrors, subdomainErrors } from '#api/values';

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";

/** Returns an error if the text is not a DNS label of at most 63 characters. */
export function labelNameError(name: string): string | undefined {
  if (name.length > 63) return 'must be no more than 63 bytes';
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) ? undefined : LABEL;
}

/** Returns an error if the text is not a valid path segment. Roles and some other kinds allow such names. */
export function pathSegmentError(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  return /[/%]/.test(name) ? `may not contain '${name.includes('/') ? '/' : '%'}'` : undefined;
}

/** Returns an error if the text is not a DNS subdomain of at most 253 characters. */
export const subdomainError = (name: string): string | undefined => subdomainErrors(name)[0];

/** Returns an error if the text is not a valid label key. */
export const labelKeyError = (key: string): string | undefined => qualifiedNameErrors(key)[0];

/** Returns an error if the text is not a valid label value. */
export const labelValueError = (value: string): string | undefined => labelValueErrors(value)[0];
