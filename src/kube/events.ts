/** Kubernetes events with de-duplication. The recorder that posts them is `eventRecorder`. */
import type { EventNote } from '#observe/events';

export type { EventNote } from '#observe/events';

export interface EventRecorder {
  publish(...notes: readonly EventNote[]): void;
}

export interface EventTap {
  /** Publishes events in the same way as the wrapped recorder. */
  readonly events: EventRecorder;
  /** Called with each event that is published after the assignment. */
  onNote: (...notes: readonly EventNote[]) => void;
}

/** Passes published events to one listener in addition to the API server. */
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
