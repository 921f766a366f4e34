/** Name of the controller that runs the current step, for metrics whose labels depend on a caller far up the stack. */
import { AsyncLocalStorage } from 'node:async_hooks';

const current = new AsyncLocalStorage<string>();

/** Runs a step of a controller. All work that the step awaits has access to this name. */
export const inController = <T>(name: string, step: () => T): T => current.run(name, step);

/** Returns the name of the controller of the current step, or an empty text outside of steps. */
export const currentController = (): string => current.getStore() ?? '';
