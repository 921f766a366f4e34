/** `karpenter convert`: manifests of Karpenter's alpha and beta APIs as those of v1. */
import { Command } from 'commander';
import { readFiles } from './convert/documents.ts';
import { type ConvertOptions, convertFiles } from './convert/manifests.ts';
import {
  type InputFlags,
  type OutputFlags,
  printErrors,
  printNotes,
  withInput,
  withOutput,
  writeFiles,
} from './convert/output.ts';

type Flags = InputFlags & OutputFlags & ConvertOptions;

function run(flags: Flags): void {
  const { files, errors } = readFiles(flags.filename, flags);
  const { notes, errors: ofObjects } = convertFiles(files, flags);
  writeFiles(files, flags);
  printNotes(notes);
  printErrors([...errors, ...ofObjects]);
}

/** Conversions of other things than manifests are subcommands. */
export function convertCommand(): Command {
  const command = new Command('convert')
    .description('Convert manifests of older Karpenter APIs to karpenter.sh/v1 and karpenter.k8s.aws/v1')
    // options after a subcommand are its own
    .enablePositionalOptions();
  return withOutput(withInput(command, 'manifests'))
    .option('--role <name>', "name of the nodes' IAM role, where the input does not tell it")
    .option('--ignore-defaults', 'leave out the requirements that Karpenter added to Provisioners without them')
    .action((flags: Flags) => {
      if (flags.filename.length === 0)
        command.error('error: name at least one file or folder with -f, or - for standard input');
      run(flags);
    });
}
