/** Structured logging in the JSON shape of the product's documentation; see `createLogger`. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** For what goes on for the time being, but wants a look. A field `remedy` says what to do. */
  warn(message: string, fields?: LogFields): void;
  /** `fields.error` may be an Error: its text is written, and AWS failures add their codes. */
  error(message: string, fields?: LogFields): void;
  /** A logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/** Writes nothing. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };
