/** Structured logging in the JSON shape of the product's documentation; see `createLogger`. */
export type LogFields = Readonly<Record<string, unknown>>;

export interface Logger {
  debug(message: string, fields?: LogFields): void;
  info(message: string, fields?: LogFields): void;
  /** For a state that needs attention although the operator continues. The field `remedy` names the next step. */
  warn(message: string, fields?: LogFields): void;
  /** `fields.error` may be an Error. Its text is written, and AWS failures add their codes. */
  error(message: string, fields?: LogFields): void;
  /** Returns a logger that adds these fields to every line. */
  with(fields: LogFields): Logger;
}

/** Logger without output. */
export const silent: Logger = { debug() {}, info() {}, warn() {}, error() {}, with: () => silent };
