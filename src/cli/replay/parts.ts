/** Dependencies of the command: readers of traces and worlds, and the replay itself. Tests replace them. */
import type { Replay } from '../../replay/replay.ts';
import { readTrace } from '../../replay/trace/read.ts';
import type { Trace, TraceHeader } from '../../replay/trace/trace.ts';
import { readWorld } from '../../replay/world-model/read-world.ts';
import { DEFAULT_WORLD, type WorldModel } from '../../replay/world-model/world-model.ts';
import { generateFrom, isGenerated } from './generated.ts';

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
  replay: async (options) => (await import('../../replay/replay.ts')).replay(options),
};
