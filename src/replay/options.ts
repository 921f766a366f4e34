/** Options of a replay. */
import type { KubeObject } from '#api/objects';
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
  /** Name of the set, and the number of the life from 1 if several lives are played. */
  readonly set: string;
  readonly life?: number;
  /** Index of the run from 0, and the number of runs. Each set has one run for each life. */
  readonly index: number;
  readonly runs: number;
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
  /**
   * Number of lives. Every set plays the same lives, which differ in boot times and in the order of nodes with equal
   * scores. Default: 1.
   */
  readonly lives?: number;
  /** Number of runs that are played at the same time, each in its own thread. Default: 1. */
  readonly parallel?: number;
  /** Memory limit of all threads together. Default: three quarters of the memory of the machine or its container. */
  readonly memoryBytes?: number;
  /** Stops this replay when it aborts. The result then covers the part that was played. */
  readonly signal?: AbortSignal;
  /** Called several times per second of real time. */
  readonly onProgress?: (progress: ReplayProgress) => void;
}
