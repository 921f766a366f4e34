/** Kubernetes' rules for names, with the messages of its field errors. */

const LABEL =
  "a lowercase RFC 1123 label must consist of lower case alphanumeric characters or '-', and must start and end with an alphanumeric character (e.g. 'my-name',  or '123-abc', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?')";
const SUBDOMAIN =
  "a lowercase RFC 1123 subdomain must consist of lower case alphanumeric characters, '-' or '.', and must start and end with an alphanumeric character (e.g. 'example.com', regex used for validation is '[a-z0-9]([-a-z0-9]*[a-z0-9])?(\\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*')";
const QUALIFIED =
  "name part must consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyName',  or 'my.name',  or '123-abc', regex used for validation is '([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]')";
const VALUE =
  "a valid label must be an empty string or consist of alphanumeric characters, '-', '_' or '.', and must start and end with an alphanumeric character (e.g. 'MyValue',  or 'my_value',  or '12345', regex used for validation is '(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?')";

const tooLong = (limit: number): string => `must be no more than ${limit} bytes`;

/** Returns an error if the text is not a DNS label of at most 63 characters. */
export function labelNameError(name: string): string | undefined {
  if (name.length > 63) return tooLong(63);
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/.test(name) ? undefined : LABEL;
}

/** Returns an error if the text is not a DNS subdomain of at most 253 characters. */
export function subdomainError(name: string): string | undefined {
  if (name.length > 253) return tooLong(253);
  return /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/.test(name) ? undefined : SUBDOMAIN;
}

/** Returns an error if the text is not a valid path segment. Roles and some other kinds allow such names. */
export function pathSegmentError(name: string): string | undefined {
  if (name === '.' || name === '..') return `may not be '${name}'`;
  return /[/%]/.test(name) ? `may not contain '${name.includes('/') ? '/' : '%'}'` : undefined;
}

/** Returns an error if the text is not a valid label key. */
export function labelKeyError(key: string): string | undefined {
  const slash = key.indexOf('/');
  const name = key.slice(slash + 1);
  if (slash >= 0) {
    const prefix = subdomainError(key.slice(0, slash));
    if (prefix) return `prefix part ${prefix}`;
  }
  if (name === '') return 'name part must be non-empty';
  if (name.length > 63) return `name part ${tooLong(63)}`;
  return /^([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9]$/.test(name) ? undefined : QUALIFIED;
}

/** Returns an error if the text is not a valid label value. */
export function labelValueError(value: string): string | undefined {
  if (value.length > 63) return tooLong(63);
  return /^(([A-Za-z0-9][-A-Za-z0-9_.]*)?[A-Za-z0-9])?$/.test(value) ? undefined : VALUE;
}
