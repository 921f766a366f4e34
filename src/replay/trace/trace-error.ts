/** A trace that cannot be used: the message names the file, the line, the field and the remedy. */
export class TraceError extends Error {
  /** @param where `week.jsonl, line 12` */
  constructor(where: string, what: string, options?: ErrorOptions) {
    super(`${where}: ${what}`, options);
    this.name = 'TraceError';
  }
}

/** What is wrong with one field of a line. Who knows the line makes a {@link TraceError} of it. */
export class FieldFault extends Error {
  constructor(field: string, what: string) {
    super(field === '' ? what : `${field} ${what}`);
    this.name = 'FieldFault';
  }
}
