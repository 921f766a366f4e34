/** Shared control flow of the conversions. */
import type { Command } from 'commander';
import { InputError } from '../objects/errors.ts';
import type { ReadFiles, SourceDocument } from './documents.ts';
import type { InputFlags } from './output.ts';

/**
 * Processes every document. An error in one document does not stop the processing of the next.
 *
 * @returns all errors
 */
export function eachDocument({ files, errors }: ReadFiles, work: (source: SourceDocument) => void): readonly Error[] {
  const wrong: Error[] = [...errors];
  for (const source of files.flatMap(({ documents }) => documents)) {
    try {
      work(source);
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      wrong.push(error);
    }
  }
  return wrong;
}

/** Sets the action of a command that reads files. A command without files is a usage error. */
export const onFiles = <Flags extends InputFlags>(
  command: Command,
  run: (flags: Flags) => void | Promise<void>,
): Command =>
  command.action(async (flags: Flags) => {
    if (flags.filename.length === 0)
      command.error('error: specify at least one file or folder with -f, or - for standard input');
    await run(flags);
  });
