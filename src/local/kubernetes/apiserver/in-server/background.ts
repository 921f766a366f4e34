/** Runs follow-up work after the write that caused it, never during the write. Each pending key runs once. */

export interface Background {
  /** Schedules `work` for this key. A key that is already pending is not added again. */
  add(key: string): void;
  stop(): void;
}

/**
 * @param work processes one key at a time. Errors are reported and dropped, because a later change adds the key again.
 */
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
