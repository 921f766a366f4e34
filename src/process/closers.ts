/** Closes the resources of a process in reverse order of opening, even if the process is still opening resources. */
export class Closers {
  readonly #functions: (() => unknown)[] = [];
  #isClosed = false;

  /** Registers a function to call on close. Calls it immediately if the close has already begun. */
  add(close: () => unknown): void {
    if (this.#isClosed) void close();
    else this.#functions.push(close);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (let next = this.#functions.pop(); next !== undefined; next = this.#functions.pop()) await next();
  }

  /**
   * Closes everything when the work ends or fails. Returns the result of the work.
   * @param limitOf returns a promise that ends the wait for functions that do not return, or undefined for no limit
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
