/** `karpenter convert`: manifests of Karpenter's alpha and beta APIs as those of v1. */
import { Command } from 'commander';
import { readFiles } from './convert/documents.ts';
import { groupCommands } from './convert/groups.ts';
import { iamCommand } from './convert/iam.ts';
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
import { onFiles } from './convert/run.ts';
import { valuesCommand } from './convert/values.ts';

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
  for (const subcommand of [valuesCommand(), iamCommand(), ...groupCommands()]) command.addCommand(subcommand);
  withOutput(withInput(command, 'manifests'))
    .option('--role <name>', "name of the nodes' IAM role, where the input does not tell it")
    .option('--ignore-defaults', 'leave out the requirements that Karpenter added to Provisioners without them');
  return onFiles<Flags>(command, run);
}
