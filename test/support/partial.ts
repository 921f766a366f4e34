/** Some fields of an object, at any depth, and fields that its type does not declare. */
type Parts<T> = T extends (...args: never[]) => unknown
  ? T
  : T extends readonly (infer Item)[]
    ? readonly Parts<Item>[]
    : T extends object
      ? Fields<T> | (Fields<T> & { readonly [name: string]: unknown })
      : T;
type Fields<T> = { readonly [K in keyof T]?: Parts<T[K]> | undefined };

/** Returns an object with only the fields that a test needs. */
export const partial = <T>(parts: Parts<NoInfer<T>>): T => parts as T;

/** Returns a value that violates its type, as users and servers can send it. */
export const invalid = <T>(value: unknown): T => value as T;
