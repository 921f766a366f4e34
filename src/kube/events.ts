/** Kubernetes events with de-duplication. The recorder that posts them is `eventRecorder`. */
import type { EventNote } from '../observe/events/declaration.ts';

export type { EventNote } from '../observe/events/declaration.ts';

export interface EventRecorder {
  publish(...notes: readonly EventNote[]): void;
}
