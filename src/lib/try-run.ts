/**
 * Returns the result of a function, or undefined if the function throws. For values that users write in any form, if another
 * part of the program reports the error.
 */
export function tryRun<T>(run: () => T): T | undefined {
  try {
    return run();
  } catch {
    return undefined;
  }
}
