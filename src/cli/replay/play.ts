/** Reads what a replay needs, and plays it: everything that can be wrong with the input is said before anything is played. */

import { availableParallelism } from 'node:os';
import { readPriceBook } from '../../api/price-book/read.ts';
import { defined } from '../../lib/defined.ts';
import type { Progress, SettingsSet } from '../../replay/replay.ts';
import type { ReplayResult } from '../../replay/result.ts';
import { refuseOldVersions } from '../objects/old-versions.ts';
import { readManifests } from '../objects/read.ts';
import { unknownFields } from '../objects/stored.ts';
import { readText } from '../objects/text.ts';
import type { ReplayParts } from './parts.ts';
import { setsOf } from './sets.ts';
import { beginningOf, until } from './trace-source.ts';

export interface PlayOptions {
  readonly filename: readonly string[];
  readonly trace: string;
  readonly world?: string;
  readonly sets?: string;
  readonly compare?: readonly string[];
  readonly priceBook?: string;
  /** Milliseconds of the trace to play. */
  readonly until?: number;
  /** Sets at a time; as many as the machine can when left out. */
  readonly parallel?: number;
  /** Bytes for all sets that are played at a time. */
  readonly memory?: number;
}

/** Something that can be played. */
export interface PlayableSet {
  readonly startMs: number;
  /** Of the trace. */
  readonly seconds: number;
  readonly sets: readonly SettingsSet[];
  readonly notes: readonly string[];
  play(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<ReplayResult>;
}

/** @throws InputError that names the file, the place and the field */
export async function preparePlay(options: PlayOptions, parts: ReplayParts): Promise<PlayableSet> {
  const manifests = readManifests(options.filename);
  refuseOldVersions(manifests);
  const { priceBook: book } = options;
  const ofBook = book === undefined ? [] : readPriceBook(readText(book), book).problems;
  const trace = until(
    await parts.openTrace(options.trace),
    options.until === undefined ? undefined : options.until / 1000,
  );
  const { sets, notes } = setsOf({
    ...options,
    manifests,
    source: options.filename.length === 0 ? `--trace ${options.trace}` : options.filename.join(', '),
    beginning: await beginningOf(trace),
  });
  const world = await parts.openWorld(options.world, trace.header);
  return {
    startMs: Date.parse(trace.header.start),
    seconds: trace.header.seconds,
    sets,
    notes: [...unknownFields(manifests), ...ofBook, ...notes],
    play: (signal, onProgress) =>
      parts.replay({
        ...{ trace, world, sets, signal, onProgress },
        parallel: options.parallel ?? runsAtOnce(options.memory),
        ...defined({ memoryBytes: options.memory }),
      }),
  };
}

/** What a run takes of memory, by far the most of them less. */
const RUN_BYTES = 1.25 * 2 ** 30;

interface Machine {
  readonly cores: number;
  /** Memory that is free. */
  readonly freeBytes: number;
}

const thisMachine = (): Machine => ({ cores: availableParallelism(), freeBytes: process.availableMemory() });

/**
 * As many as there are cores, and memory for.
 * @param mostBytes  what they may take together
 */
export const runsAtOnce = (
  mostBytes = Number.POSITIVE_INFINITY,
  { cores, freeBytes }: Machine = thisMachine(),
): number => Math.max(1, Math.min(cores, Math.floor(Math.min(freeBytes, mostBytes) / RUN_BYTES)));
