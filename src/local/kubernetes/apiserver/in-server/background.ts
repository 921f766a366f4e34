/** Runs follow-up work after the write that caused it, never inside it, and each key once. */

export interface Background {
  /** Runs `work` for this key soon; a key that waits already is not added twice. */
  add(key: string): void;
  stop(): void;
}

/** @param work gets one key at a time; what it throws is reported and dropped, as a later change brings it back */
export function background(name: string, work: (key: string) => void): Background {
  const waiting = new Set<string>();
  let scheduled: NodeJS.Immediate | undefined;
  const run = (): void => {
    scheduled = undefined;
    for (const key of [...waiting]) {
      waiting.delete(key);
      try {
        work(key);
      } catch (error) {
        process.emitWarning(`The local API server's ${name} failed for ${key}: ${String(error)}`);
      }
    }
  };
  return {
    add: (key) => {
      waiting.add(key);
      scheduled ??= setImmediate(run);
    },
    stop: () => {
      clearImmediate(scheduled);
      waiting.clear();
    },
  };
}
