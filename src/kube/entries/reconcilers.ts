export { backOffMs } from '../backoff.ts';
export { ConfigMapDocument, type DocumentOptions, textOf } from '../config-map-document.ts';
export { DocumentKeeper, type Kept, writeLast } from '../document-keeper.ts';
export { type EventNote, type EventRecorder, type EventTap, eventTap } from '../events.ts';
export {
  after,
  type BackOff,
  type Controller,
  type Key,
  type KeyedWorker,
  type Outcome,
  type RateLimit,
  type ReconcileContext,
  type Reconciler,
  Requeue,
  type Singleton,
  settled,
  soonest,
  type Trigger,
} from '../reconciler.ts';
export { eventRecorder } from '../recorder.ts';
export { runControllers } from '../runtime.ts';
