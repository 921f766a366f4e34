/** Options of a replay. */
import type { KubeObject } from '../api/kubernetes.ts';
import type { Trace } from './trace/trace.ts';
import type { WorldModel } from './world-model/world-model.ts';

/** Settings of one run. */
export interface SettingsSet {
  readonly name: string;
  /** Differences from the other sets, as text for reports. */
  readonly says: readonly string[];
  /** Command-line arguments of the operator, for example `--consolidation=compatible`. */
  readonly args: readonly string[];
  /** NodePools, EC2NodeClasses and all other objects that exist before the trace begins. */
  readonly objects: readonly KubeObject[];
}

export interface ReplayProgress {
  /** Name of the set, its index from 0, and the number of sets. */
  readonly set: string;
  readonly index: number;
  readonly sets: number;
  /** Share of the trace that was played, from 0 to 1. */
  readonly share: number;
  readonly nodes: number;
  readonly pods: number;
  readonly usd: number;
}

export interface ReplayOptions {
  readonly trace: Trace;
  readonly world: WorldModel;
  readonly sets: readonly SettingsSet[];
  /** Number of sets that are played at the same time, each in its own thread. Default: 1. */
  readonly parallel?: number;
  /** Memory limit of all threads together. Default: three quarters of the memory of the machine or its container. */
  readonly memoryBytes?: number;
  /** Stops the replay when it aborts. The result then covers the part that was played. */
  readonly signal?: AbortSignal;
  /** Called several times per second of real time. */
  readonly onProgress?: (progress: ReplayProgress) => void;
}
