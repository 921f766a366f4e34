/** What the verb is made of beside what people see: who reads traces and worlds, and who plays. One place, so that tests bring their own. */
import type { Replay } from '../../replay/replay.ts';
import { readTrace } from '../../replay/trace/read.ts';
import type { Trace, TraceHeader } from '../../replay/trace/trace.ts';
import { readWorld } from '../../replay/world-model/read-world.ts';
import { DEFAULT_WORLD, type WorldModel } from '../../replay/world-model/world-model.ts';
import { generated, isGenerated } from './generated.ts';

export interface ReplayParts {
  /** @throws Error that names the file, the line and the field */
  readonly openTrace: (source: string) => Promise<Trace>;
  /** Of a file, or the default without one, for the time of a trace. @throws Error that names the file and the field */
  readonly openWorld: (file: string | undefined, header: TraceHeader) => Promise<WorldModel>;
  readonly replay: Replay;
}

export const PARTS: ReplayParts = {
  openTrace: async (source) => (isGenerated(source) ? generated(source) : readTrace(source)),
  openWorld: async (file, header) => (file === undefined ? DEFAULT_WORLD : readWorld(file, header)),
  // loaded last: what is wrong with the input is said at once
  replay: async (options) => (await import('../../replay/replay.ts')).replay(options),
};
