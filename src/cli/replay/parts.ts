/** What the verb is made of beside what people see: who reads traces and worlds, and who plays. One place, so that tests bring their own. */
import type { Replay } from '../../replay/replay.ts';
import type { Trace } from '../../replay/trace/trace.ts';
import type { WorldModel } from '../../replay/world-model/world-model.ts';

export interface ReplayParts {
  /** @throws Error that names the file, the line and the field */
  readonly openTrace: (source: string) => Promise<Trace>;
  /** Of a file, or the default without one. @throws Error that names the file and the field */
  readonly openWorld: (file: string | undefined) => Promise<WorldModel>;
  readonly replay: Replay;
}
