/** Kubernetes events with de-duplication. The recorder that posts them is `eventRecorder`. */
import type { EventNote } from '../observe/events/declaration.ts';

export type { EventNote } from '../observe/events/declaration.ts';

export interface EventRecorder {
  publish(...notes: readonly EventNote[]): void;
}

export interface EventTap {
  /** Publishes as before. */
  readonly events: EventRecorder;
  /** Called with what is published from then on. */
  onNote: (...notes: readonly EventNote[]) => void;
}

/** Passes published events to one more listener besides the API server. */
export function eventTap(recorder: EventRecorder): EventTap {
  const tap: EventTap = {
    onNote: () => {},
    events: {
      publish(...notes) {
        recorder.publish(...notes);
        tap.onNote(...notes);
      },
    },
  };
  return tap;
}
