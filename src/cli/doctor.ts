/**
 * Command `karpenter doctor`. Reports problems of the account or the cluster that prevent nodes from being launched,
 * and their remedies.
 */
import { Command, Option } from 'commander';
import { examine, type Finding } from '../aws/doctor/doctor.ts';
import { withExamples } from './describe.ts';
import { type Format, outputOption, printAs } from './render/output.ts';
import { counted } from './render/table.ts';

const MARKS: Readonly<Record<Finding['level'], string>> = { ok: 'ok      ', warning: 'warning ', error: 'ERROR   ' };

/** Renders each finding with its remedy, and the totals. */
export function findingsText(findings: readonly Finding[]): string {
  const lines = findings.flatMap(({ level, subject, message, fix }) => [
    `${MARKS[level]}${subject}: ${message}`,
    ...(fix === undefined ? [] : [`        fix: ${fix}`]),
  ]);
  const count = (level: Finding['level']): number => findings.filter((finding) => finding.level === level).length;
  const totals = `${counted(count('error'), 'error')}, ${counted(count('warning'), 'warning')}, ${count('ok')} ok`;
  return `${[...lines, '', totals].join('\n')}\n`;
}

interface Flags {
  readonly clusterName?: string;
  readonly interruptionQueue?: string;
  readonly kubeconfig?: string;
  readonly output: Format;
}

/** @param version version of the product */
export function doctorCommand(version: string): Command {
  return withExamples(new Command('doctor'), [
    { what: 'the installation of the current context', command: 'karpenter doctor' },
    {
      what: 'before the installation',
      command: 'karpenter doctor --cluster-name my-cluster --interruption-queue my-cluster',
    },
  ])
    .description(
      'Checks an AWS account and a cluster for what the operator needs. Reads and dry runs only: nothing is changed.\n' +
        'Region and credentials are those of the AWS SDK: calls are tried with them, not with the role of the operator.\n' +
        'Rights that cannot be tried are simulated for the role that its service account names, where it names one.',
    )
    .addOption(
      new Option('--cluster-name <name>', 'default: that of the installation in the cluster').env('CLUSTER_NAME'),
    )
    .addOption(
      new Option('--interruption-queue <name>', 'default: that of the installation in the cluster').env(
        'INTERRUPTION_QUEUE',
      ),
    )
    .addOption(new Option('--kubeconfig <file>', 'default: as kubectl finds it').env('KUBECONFIG'))
    .addOption(outputOption())
    .addHelpText('after', '\nEnds with 1 when something is wrong that keeps nodes from being bought.')
    .action(async ({ output, ...flags }: Flags) => {
      const findings = await examine({ ...flags, version });
      await printAs(output, findings, findingsText);
      if (findings.some(({ level }) => level === 'error')) process.exitCode = 1;
    });
}
