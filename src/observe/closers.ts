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
}
