/** Kubernetes events with de-duplication. The recorder that posts them is `eventRecorder`. */
import type { KubeObject } from '../api/kubernetes.ts';

export interface EventNote {
  readonly object: KubeObject;
  readonly type: 'Normal' | 'Warning';
  readonly reason: string;
  readonly message: string;
  /** With the reason, the key under which repetitions are dropped; never de-duplicated when absent. */
  readonly dedupe?: readonly string[];
  /** How long a repetition is dropped. Default 2 minutes. */
  readonly windowMs?: number;
  /** Shared token bucket, by name, taken after de-duplication. */
  readonly limit?: { readonly name: string; readonly qps: number; readonly burst: number };
}

export interface EventRecorder {
  publish(...notes: readonly EventNote[]): void;
}
