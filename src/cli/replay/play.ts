/** Reads and validates the complete input of a replay before it starts. */
import { availableParallelism } from 'node:os';
import { readPriceBook } from '#api/price-book';
import { defined } from '#lib';
import type { Progress, Replay, ReplayResult, SettingsSet } from '#replay/run';
import { readTrace, type Trace, type TraceEvent, type TraceHeader } from '#replay/trace';
import { DEFAULT_WORLD, readWorld, type WorldModel } from '#replay/world-model';
import { refuseOldVersions } from '../objects/old-versions.ts';
import { readManifests } from '../objects/read.ts';
import { unknownManifestFields } from '../objects/stored.ts';
import { readText } from '../objects/text.ts';
import { generateFrom, isGenerated } from './generated.ts';
import type { Beginning } from './objects.ts';
import { setsOf } from './sets.ts';

/** Returns the first `seconds` of a trace. Returns a shorter trace unchanged. */
function until(trace: Trace, seconds: number | undefined): Trace {
  if (seconds === undefined || seconds >= trace.header.seconds) return trace;
  return {
    header: { ...trace.header, seconds },
    async *events() {
      for await (const event of trace.events()) {
        if (event.at >= seconds) return;
        yield event;
      }
    },
  };
}

const nameIn = (event: TraceEvent, kind: string): readonly string[] =>
  'apply' in event && event.apply.kind === kind ? [event.apply.metadata.name] : [];

/** Returns the NodePools and NodeClasses at the start of the trace. */
async function beginningOf(trace: Trace): Promise<Beginning> {
  const nodePools = new Set<string>();
  const nodeClasses = new Set<string>();
  for await (const event of trace.events()) {
    if (event.at > 0) break;
    for (const name of nameIn(event, 'NodePool')) nodePools.add(name);
    for (const name of nameIn(event, 'EC2NodeClass')) nodeClasses.add(name);
  }
  return { nodePools, nodeClasses };
}

export interface PlayOptions {
  readonly filename: readonly string[];
  readonly trace: string;
  readonly world?: string;
  readonly sets?: string;
  readonly compare?: readonly string[];
  readonly priceBook?: string;
  /** Length of the replayed part of the trace, in milliseconds. */
  readonly until?: number;
  /** Number of lives of each set. */
  readonly lives?: number;
  /** Number of runs that are played in parallel. By default limited by the machine. */
  readonly parallel?: number;
  /** Memory limit in bytes for all runs that are played in parallel. */
  readonly memory?: number;
}

export interface PlayableSet {
  readonly startMs: number;
  /** Length of the trace. */
  readonly seconds: number;
  readonly sets: readonly SettingsSet[];
  readonly notes: readonly string[];
  play(signal: AbortSignal, onProgress: (progress: Progress) => void): Promise<ReplayResult>;
}

/** @throws InputError with the file, the place and the field */
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
    notes: [...unknownManifestFields(manifests), ...ofBook, ...notes],
    play: (signal, onProgress) =>
      parts.replay({
        trace,
        world,
        sets,
        signal,
        onProgress,
        parallel: options.parallel ?? runsAtOnce(options.memory),
        ...defined({ memoryBytes: options.memory, lives: options.lives }),
      }),
  };
}

/** Memory of a run. Most runs need far less. */
const RUN_BYTES = 1.25 * 2 ** 30;

interface Machine {
  readonly cores: number;
  /** Free memory. */
  readonly freeBytes: number;
}

const thisMachine = (): Machine => ({ cores: availableParallelism(), freeBytes: process.availableMemory() });

/**
 * Returns the number of runs for which the machine has cores and memory.
 *
 * @param mostBytes memory limit of all runs
 */
export const runsAtOnce = (
  mostBytes = Number.POSITIVE_INFINITY,
  { cores, freeBytes }: Machine = thisMachine(),
): number => Math.max(1, Math.min(cores, Math.floor(Math.min(freeBytes, mostBytes) / RUN_BYTES)));

/** Dependencies of the command: readers of traces and worlds, and the replay itself. Tests replace them. */
export interface ReplayParts {
  /** @throws Error with the file, the line and the field */
  readonly openTrace: (source: string) => Promise<Trace>;
  /**
   * Reads a world for the time of a trace. Returns the default without a file.
   *
   * @throws Error with the file and the field
   */
  readonly openWorld: (file: string | undefined, header: TraceHeader) => Promise<WorldModel>;
  readonly replay: Replay;
}

export const PARTS: ReplayParts = {
  openTrace: async (source) => (isGenerated(source) ? generateFrom(source) : readTrace(source)),
  openWorld: async (file, header) => (file === undefined ? DEFAULT_WORLD : readWorld(file, header)),
  // loaded last, so that errors in the input are reported without delay
  replay: async (options) => (await import('#replay/run')).replay(options),
};
