/** What every operation of the server works on. */
import type { Clock } from '../../../lib/clock.ts';
import type { Registry } from './resources/registry.ts';
import type { ObjectStore } from './storage/store.ts';

export interface Core {
  readonly clock: Clock;
  readonly store: ObjectStore;
  readonly registry: Registry;
  readonly random: Randomness;
}

/** What names and UIDs are made of. */
export interface Randomness {
  /** A whole number from 0 to below `limit`. */
  below(limit: number): number;
  uuid(): string;
}

export interface WriteOptions {
  /** Does everything but store the result. */
  readonly dryRun?: boolean | undefined;
  /** What unknown fields lead to: an error, a warning or nothing. Default Warn. */
  readonly fieldValidation?: 'Strict' | 'Warn' | 'Ignore' | undefined;
  /** Receives the texts of warnings. */
  readonly warnings?: string[] | undefined;
  /** Writes status alone. */
  readonly subresource?: 'status' | undefined;
  /** Who manages the fields that this changes; without one, whoever managed them goes on to. */
  readonly fieldManager?: string | undefined;
  /** The subresource that the manager wrote; default `subresource`. */
  readonly writtenAs?: 'status' | 'scale' | undefined;
}

export interface DeleteOptions {
  readonly dryRun?: boolean | undefined;
  readonly gracePeriodSeconds?: number | undefined;
  readonly uid?: string | undefined;
  readonly resourceVersion?: string | undefined;
  readonly propagationPolicy?: 'Background' | 'Foreground' | 'Orphan' | undefined;
}
