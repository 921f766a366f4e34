/** State and options that all operations of the server share. */
import type { Clock } from '#lib/clock';
import type { Registry } from './resources/registry.ts';
import type { ObjectStore } from './storage/store.ts';

export interface Core {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly registry: Registry;
  readonly random: Randomness;
}

/** Random source of names and UIDs. */
export interface Randomness {
  /** Returns an integer from 0 (inclusive) to `limit` (exclusive). */
  below(limit: number): number;
  uuid(): string;
}

export interface WriteOptions {
  /** Performs the operation without storing its result. */
  readonly dryRun?: boolean | undefined;
  /** Reaction to unknown fields: an error, a warning, or none. Default Warn. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined;
  /** Receives the texts of warnings. */
  readonly warnings?: string[] | undefined;
  /** Writes the status only, or the resources of the containers of a pod. */
  readonly subresource?: 'status' | 'resize' | undefined;
  /** Manager of the changed fields. If it is undefined, the fields keep their managers. */
  readonly fieldManager?: string | undefined;
  /** Subresource that the manager wrote. Default `subresource`. */
  readonly writtenAs?: 'status' | 'resize' | 'scale' | undefined;
}

export interface ApiDeleteOptions {
  readonly dryRun?: boolean | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}
