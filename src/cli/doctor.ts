/**
 * Command `karpenter doctor`. Reports problems of the account or the cluster that prevent nodes from being launched,
 * and their remedies.
 */
import { Command, Option } from 'commander';
import type { Examine } from '#cloud';
import { withExamples } from './describe.ts';
import { findingsText } from './render/findings.ts';
import { type Format, outputOption, printAs } from './render/output.ts';

interface Flags {
  readonly clusterName?: string;
  readonly interruptionQueue?: string;
  readonly kubeconfig?: string;
  readonly output: Format;
}

/**
 * @param version version of the product
 * @param examine checks of the provider
 */
export function doctorCommand(version: string, examine: Examine): Command {
  return withExamples(new Command('doctor'), [
    { what: 'check the installation in the current context', command: 'karpenter doctor' },
    {
      what: 'check before the installation',
      command: 'karpenter doctor --cluster-name my-cluster --interruption-queue my-cluster',
    },
  ])
    .description(
      'Check an AWS account and a cluster against the requirements of the operator. Only reads and dry runs; nothing is changed.\n' +
        'Region and credentials come from the AWS SDK. Calls are tried with them, not with the role of the operator.\n' +
        'Permissions that cannot be tried are simulated for the role in the annotation of the service account, if it has one.',
    )
    .addOption(new Option('--cluster-name <name>', 'default: from the installation in the cluster').env('CLUSTER_NAME'))
    .addOption(
      new Option('--interruption-queue <name>', 'default: from the installation in the cluster').env(
        'INTERRUPTION_QUEUE',
      ),
    )
    .addOption(new Option('--kubeconfig <file>', 'default: same as kubectl').env('KUBECONFIG'))
    .addOption(outputOption())
    .addHelpText('after', '\nExits with 1 if an error prevents launches.')
    .action(async ({ output, ...flags }: Flags) => {
      const findings = await examine({ ...flags, version });
      await printAs(output, findings, findingsText);
      if (findings.some(({ level }) => level === 'error')) process.exitCode = 1;
    });
}
