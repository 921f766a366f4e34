import type { Command } from '../../engine/disruption/command.ts';
import type { Method } from '../../engine/disruption/method.ts';
import type { LogFields } from '../../observe/logger.ts';
import type { CommandTrace } from '../traces/command-trace.ts';

/** A command that is being carried out. */
export interface Order {
  readonly id: string;
  readonly command: Command;
  readonly method: Method;
  /** Start time, comparable with the creation times of NodeClaims. */
  readonly startedMs: number;
  /** Names of the NodeClaims that replace the candidates. */
  readonly replacements: readonly string[];
  readonly fields: LogFields;
  /** Undefined if tracing is disabled. */
  readonly trace?: CommandTrace | undefined;
}
