/** `karpenter convert`: manifests of Karpenter's alpha and beta APIs as those of v1. */
import { Command } from 'commander';
import { readFiles } from './convert/documents.ts';
import { iamCommand } from './convert/iam.ts';
import { Notes } from './convert/notes.ts';
import {
  type InputFlags,
  type OutputFlags,
  printErrors,
  printNotes,
  withInput,
  withOutput,
  writeFiles,
} from './convert/output.ts';
import { valuesCommand } from './convert/values.ts';

type Flags = InputFlags & OutputFlags;

function run(flags: Flags): void {
  const { files, errors } = readFiles(flags.filename, flags);
  const notes = new Notes();
  writeFiles(files, flags);
  printNotes(notes);
  printErrors(errors);
}

/** Conversions of other things than manifests are subcommands. */
export function convertCommand(): Command {
  const command = new Command('convert')
    .description('Convert manifests of older Karpenter APIs to karpenter.sh/v1 and karpenter.k8s.aws/v1')
    // options after a subcommand are its own
    .enablePositionalOptions();
  for (const subcommand of [valuesCommand(), iamCommand()]) command.addCommand(subcommand);
  return withOutput(withInput(command, 'manifests')).action((flags: Flags) => {
    if (flags.filename.length === 0)
      command.error('error: name at least one file or folder with -f, or - for standard input');
    run(flags);
  });
}
