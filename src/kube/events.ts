/** Kubernetes events with de-duplication. The recorder that posts them is `eventRecorder`. */
import type { EventNote } from '../observe/events/declaration.ts';

export type { EventNote } from '../observe/events/declaration.ts';

export interface EventRecorder {
  /** False where nobody reads events: who would have to look for thousands of them need not. */
  readonly isHeard?: boolean;
  publish(...notes: readonly EventNote[]): void;
}
