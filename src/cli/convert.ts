/** Command `karpenter convert`. Converts manifests of Karpenter's alpha and beta APIs to v1. */
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

const EXAMPLES = `
What is guessed, lost or changed is said in a comment at the field and in a line on standard error. The command ends
with 1 when an object or a file could not be converted; it stays as it was.

Examples:
  karpenter convert -f provisioner.yaml -f template.yaml --role KarpenterNodeRole-dev -o v1.yaml
  karpenter convert -R -f clusters/dev --diff
  karpenter convert -R -f clusters/dev --in-place
  kubectl get nodepools,ec2nodeclasses -o yaml | karpenter convert -f - | kubectl apply -f -`;

/** Creates the command. Its subcommands convert other input than manifests. */
export function convertCommand(): Command {
  const command = new Command('convert')
    .description('Convert manifests of older Karpenter APIs to karpenter.sh/v1 and karpenter.k8s.aws/v1')
    // options after a subcommand belong to the subcommand
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES);
  for (const subcommand of [valuesCommand(), iamCommand(), ...groupCommands()]) command.addCommand(subcommand);
  withOutput(withInput(command, 'manifests'))
    .option('--role <name>', "name of the nodes' IAM role, where the input does not name it")
    .option('--ignore-defaults', 'leave out the requirements that Karpenter added to Provisioners without them');
  return onFiles<Flags>(command, run);
}
