/** Lets somebody read what controllers publish, besides the API server. */
import type { EventNote, EventRecorder } from './events.ts';

export interface EventTap {
  /** Publishes as before. */
  readonly events: EventRecorder;
  /** Called with what is published from then on. */
  onNote: (...notes: readonly EventNote[]) => void;
}

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
