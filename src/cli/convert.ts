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
Assumptions, losses and changes are reported in a comment at the field and in a line on standard error. The command exits
with 1 if an object or a file cannot be converted. Such an object is left unchanged.

Examples:
  karpenter convert -f provisioner.yaml -f template.yaml --role KarpenterNodeRole-dev -o v1.yaml
  karpenter convert -R -f clusters/dev --diff
  karpenter convert -R -f clusters/dev --in-place
  kubectl get nodepools,ec2nodeclasses -o yaml | karpenter convert -f - | kubectl apply -f -`;

/** Creates the command. Its subcommands convert other input than manifests. */
export function convertCommand(): Command {
  const command = new Command('convert')
    .description('Convert manifests of older Karpenter API versions to karpenter.sh/v1 and karpenter.k8s.aws/v1')
    // options after a subcommand belong to the subcommand
    .enablePositionalOptions()
    .addHelpText('after', EXAMPLES);
  for (const subcommand of [valuesCommand(), iamCommand(), ...groupCommands()]) command.addCommand(subcommand);
  withOutput(withInput(command, 'manifests'))
    .option('--role <name>', 'name of the IAM role of the nodes, if the input does not contain it')
    .option('--ignore-defaults', 'omit the default requirements that Karpenter added to Provisioners');
  return onFiles<Flags>(command, run);
}
