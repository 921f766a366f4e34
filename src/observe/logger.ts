import { AsyncLocalStorage } from 'node:async_hooks';

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

/** Name of the controller that runs the current step, for metrics whose labels depend on a caller far up the stack. */
const current = new AsyncLocalStorage<string>();

/** Runs a step of a controller. All work that the step awaits has access to this name. */
export const inController = <T>(name: string, step: () => T): T => current.run(name, step);

/** Returns the name of the controller of the current step, or an empty text outside of steps. */
export const currentController = (): string => current.getStore() ?? '';
