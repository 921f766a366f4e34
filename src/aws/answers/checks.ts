/** What a value of an answer has to be like where the operator reads it. */

/** Says what is wrong with a value, as `path is …`; undefined when nothing is. */
export type Check = (value: unknown, path: string) => string | undefined;

/** The members of a structure that are read. All others may be anything. */
export type Members<T> = { readonly [K in keyof T]?: Check };

const isAbsent = (value: unknown): value is undefined | null => value === undefined || value === null;

/** As the protocols have it, `null` is the same as nothing. */
export const optional =
  (check: Check): Check =>
  (value, path) =>
    isAbsent(value) ? undefined : check(value, path);

const required =
  (check: Check): Check =>
  (value, path) =>
    isAbsent(value) ? `${path} is missing` : check(value, path);

/** Longer than any name, id or ARN; bodies of messages are not checked for it. */
const LONGEST = 4_096;

/** A text that is not empty. */
export const text: Check = required((value, path) => {
  if (typeof value !== 'string') return `${path} is not a text`;
  if (value === '') return `${path} is empty`;
  return value.length > LONGEST ? `${path} has ${value.length} characters` : undefined;
});

export const anyText: Check = required((value, path) =>
  typeof value === 'string' ? undefined : `${path} is not a text`,
);

/** A text for which `holds`, which makes it `what`. */
export const textThat =
  (holds: (value: string) => boolean, what: string): Check =>
  (value, path) =>
    text(value, path) ?? (holds(value as string) ? undefined : `${path} is not ${what}`);

export const flag: Check = required((value, path) =>
  typeof value === 'boolean' ? undefined : `${path} is not true or false`,
);

/** A number from 0 to `most`. */
export const amount = (most = 1e12): Check =>
  required((value, path) => {
    if (typeof value !== 'number') return `${path} is not a number`;
    return value >= 0 && value <= most ? undefined : `${path} is ${value}, not a number from 0 to ${most}`;
  });

/** A number above 0. */
export const some = (most?: number): Check => {
  const check = amount(most);
  return (value, path) => check(value, path) ?? (value === 0 ? `${path} is 0` : undefined);
};

export const moment: Check = required((value, path) =>
  value instanceof Date && !Number.isNaN(value.getTime()) ? undefined : `${path} is not a time`,
);

/** A moment as text. */
export const momentText: Check = (value, path) =>
  text(value, path) ?? (Number.isNaN(Date.parse(value as string)) ? `${path} is not a time` : undefined);

export const list = (item: Check, { atLeast = 0 }: { readonly atLeast?: number } = {}): Check =>
  required((value, path) => {
    if (!Array.isArray(value)) return `${path} is not a list`;
    if (value.length < atLeast) return `${path} is empty`;
    for (const [at, each] of value.entries()) {
      const problem = item(each, `${path}[${at}]`);
      if (problem !== undefined) return problem;
    }
    return undefined;
  });

/** Of type `T`, so that no member's name is misspelt. */
export const structure = <T>(members: Members<T>): Check => {
  const checks = Object.entries(members) as [string, Check][];
  return required((value, path) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value)) return `${path} is not a structure`;
    const prefix = path === '' ? '' : `${path}.`;
    for (const [name, check] of checks) {
      const problem = check((value as Record<string, unknown>)[name], prefix + name);
      if (problem !== undefined) return problem;
    }
    return undefined;
  });
};

export const anything: Check = () => undefined;

/** Both of them. */
export const both =
  (first: Check, second: Check): Check =>
  (value, path) =>
    first(value, path) ?? second(value, path);
