/** Closes in reverse order what a process has opened, also if that is still being opened. */
export class Closers {
  readonly #functions: (() => unknown)[] = [];
  #isClosed = false;

  /** Calls the function when everything is closed; at once if that has happened. */
  add(close: () => unknown): void {
    if (this.#isClosed) void close();
    else this.#functions.push(close);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let next = this.#functions.pop(); next !== undefined; next = this.#functions.pop()) await next();
  }

  /**
   * Closes everything when the work ends, even by an error. Returns the result of the work.
   * @param limitOf returns the end of the wait for functions that do not return; undefined for no limit
   */
  async closeAfter<T>(work: Promise<T>, limitOf: (end: T) => Promise<void> | undefined): Promise<T> {
    let limit: Promise<void> | undefined;
    try {
      const end = await work;
      limit = limitOf(end);
      return end;
    } finally {
      await Promise.race([this.close(), ...(limit ? [limit] : [])]);
    }
  }
}
