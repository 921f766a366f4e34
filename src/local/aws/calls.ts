/** Calls to the local AWS, counted and stored for tests and for the demo's summary. */
import type { CallLog, RecordedCall } from './types.ts';

/** Number of recent calls to store, so that memory does not grow during long runs. */
const KEPT_CALLS = 2_000;

export interface CallBook extends CallLog {
  /** Returns a function that records the error code of the call. */
  record(service: string, action: string, input: object, atMs: number): (errorCode: string) => void;
}

export function callBook(kept = KEPT_CALLS): CallBook {
  const counts = new Map<string, number>();
  let calls: { -readonly [K in keyof RecordedCall]: RecordedCall[K] }[] = [];
  return {
    record(service, action, input, atMs) {
      counts.set(action, (counts.get(action) ?? 0) + 1);
      if (kept === 0) return () => undefined;
      const call: (typeof calls)[number] = { service, action, input: input as Readonly<Record<string, unknown>>, atMs };
      calls.push(call);
      if (calls.length > 2 * kept) calls = calls.slice(-kept);
      return (errorCode) => {
        call.errorCode = errorCode;
      };
    },
    counts: () => Object.fromEntries(counts),
    recorded: (action) => calls.slice(-kept).filter((call) => action === undefined || call.action === action),
    clear() {
      counts.clear();
      calls = [];
    },
  };
}
