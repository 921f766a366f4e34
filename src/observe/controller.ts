/** Which controller the present step belongs to, for metrics that distinguish callers far above them. */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** Runs a step of a controller; everything it awaits knows its name. */
export const inController = <T>(name: string, step: () => T): T => current.run(name, step);

/** Name of the controller whose step this is; empty outside of steps. */
export const currentController = (): string => current.getStore() ?? '';
