/** What a replay is played with. */
import type { KubeObject } from '../api/kubernetes.ts';
import type { Trace } from './trace/trace.ts';
import type { WorldModel } from './world-model/world-model.ts';

/** Settings that one run is played with. */
export interface SettingsSet {
  readonly name: string;
  /** For who reads the result: what sets it apart from the others. */
  readonly says: readonly string[];
  /** Of the operator, as on its command line: `--consolidation=compatible`. */
  readonly args: readonly string[];
  /** NodePools, EC2NodeClasses and everything else that is there before the trace begins. */
  readonly objects: readonly KubeObject[];
}

export interface ReplayProgress {
  /** Name of the set, its place among them from 0, and how many there are. */
  readonly set: string;
  readonly index: number;
  readonly sets: number;
  /** Share of the trace that was played, 0 to 1. */
  readonly share: number;
  readonly nodes: number;
  readonly pods: number;
  readonly usd: number;
}

export interface ReplayOptions {
  readonly trace: Trace;
  readonly world: WorldModel;
  readonly sets: readonly SettingsSet[];
  /** How many sets are played at a time, each in a thread of its own; 1 when left out. */
  readonly parallel?: number;
  /** What all threads together may take; three quarters of what the machine has, or its container, when left out. */
  readonly memoryBytes?: number;
  /** Aborted: what was played until then is answered. */
  readonly signal?: AbortSignal;
  /** Called several times a second of real time. */
  readonly onProgress?: (progress: ReplayProgress) => void;
}
