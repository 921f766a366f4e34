import type { Command } from '../../engine/disruption/command.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { LogFields } from '../../observe/logger.ts';
import type { CommandTrace } from '../traces/command-trace.ts';

/** A command that is being carried out. */
export interface Order {
  readonly id: string;
  readonly command: Command;
  readonly method: Method;
  /** By the clock's time, as NodeClaims record when they were made. */
  readonly startedMs: number;
  /** Names of the NodeClaims that were created to replace the candidates. */
  readonly replacements: readonly string[];
  readonly fields: LogFields;
  /** Undefined: nobody wants traces. */
  readonly trace?: CommandTrace | undefined;
}
