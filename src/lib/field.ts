/** Reads values of files, traces and AWS responses. The error for an unusable value names its field. */
import { isObject, type JsonObject } from './json-object.ts';
import { own } from './own.ts';

/** Vocabulary of one kind of input. */
export interface Wording {
  readonly text: string;
  readonly object: string;
  /** True if null is a value. Otherwise, null has the meaning of a missing field. */
  readonly isNullGiven?: boolean;
  /** Returns the reason why a value, which may be missing, does not have the expected form. */
  readonly problem: (expected: string, value: unknown, path: string) => string;
  readonly error: (path: string, problem: string) => Error;
}

/** Error of one field, for readers that do not know the position of the document. */
export class FieldFault extends Error {
  override readonly name = 'FieldFault';

  constructor(path: string, problem: string) {
    super(path === '' ? problem : `${path} ${problem}`);
  }
}

/** Value in a document, with its path. Each method that checks the value throws the error of the wording. */
export class Field {
  readonly value: unknown;
  readonly path: string;
  readonly #wording: Wording;

  constructor(value: unknown, wording: Wording, path = '') {
    this.value = value;
    this.path = path;
    this.#wording = wording;
  }

  fail(problem: string): never {
    throw this.#wording.error(this.path, problem);
  }

  get isMissing(): boolean {
    return this.value === undefined || (this.value === null && !this.#wording.isNullGiven);
  }

  /** The field, or undefined if it is missing. `field.given?.text()` reads an optional text. */
  get given(): this | undefined {
    return this.isMissing ? undefined : this;
  }

  /** Returns another value that has the same path in messages. */
  with(value: unknown): Field {
    return new Field(value, this.#wording, this.path);
  }

  /** Returns a field of an object. It is missing if the object is missing. */
  at(key: string): Field {
    const value = this.isMissing ? undefined : own(this.object().value as JsonObject, key);
    return new Field(value, this.#wording, this.path === '' ? key : `${this.path}.${key}`);
  }

  /** Returns the names of the fields of an object. A missing object has none. */
  keys(): readonly string[] {
    return this.isMissing ? [] : Object.keys(this.object().value as object);
  }

  /** Returns the items of a list. A missing list has none. */
  items(): readonly Field[] {
    if (this.isMissing) return [];
    this.expect(Array.isArray(this.value), 'a list');
    return (this.value as readonly unknown[]).map(
      (item, index) => new Field(item, this.#wording, `${this.path}[${index}]`),
    );
  }

  expect(isExpected: boolean, expected: string): void {
    if (!isExpected) this.fail(this.#wording.problem(expected, this.value, this.path));
  }

  required(expected = ''): this {
    this.expect(!this.isMissing, expected);
    return this;
  }

  object(): this {
    this.expect(isObject(this.value), this.#wording.object);
    return this;
  }

  text(): string {
    this.expect(typeof this.value === 'string', this.#wording.text);
    return this.value as string;
  }

  flag(): boolean {
    this.expect(typeof this.value === 'boolean', 'true or false');
    return this.value as boolean;
  }

  /** Returns a finite number. */
  number(): number {
    this.expect(Number.isFinite(this.value), 'a number');
    return this.value as number;
  }

  count(): number {
    this.expect(Number.isInteger(this.value) && Number(this.value) >= 0, 'an integer of at least 0');
    return this.value as number;
  }

  oneOf(...allowed: readonly string[]): string {
    this.expect(allowed.includes(this.value as string), `one of ${allowed.join(', ')}`);
    return this.value as string;
  }
}
