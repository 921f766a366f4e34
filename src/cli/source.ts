/** Common options of commands that read a dump of a cluster, or data from its operator. */
import { type Command, Option } from 'commander';
import { DEFAULT_SERVER } from './operator.ts';
import { filenameOption } from './scenario.ts';

export interface SourceFlags {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  /** URL of an operator's metrics port. Used if no manifests are given. */
  readonly server?: string;
}

export const serverOption = (): Option =>
  new Option(
    '--server <url>',
    `metrics address of the operator, used if there is no -f (default: "${DEFAULT_SERVER}")`,
  );

export const clusterServerOption = (): Option =>
  new Option(
    '--server <url>',
    `metrics address of the operator, for example ${DEFAULT_SERVER} (default without -f: the operator in the cluster of the kubeconfig)`,
  );

export const operatorNamespaceOption = (): Option =>
  new Option(
    '--operator-namespace <namespace>',
    'namespace of the operator (default: the namespace of the ServiceAccount that has the rights of the operator)',
  );

/** Exits if both sources are given, because otherwise one of them would be ignored silently. */
export function refuseTwoSources(command: Command, { filename, server }: SourceFlags): void {
  if (filename.length > 0 && server !== undefined)
    command.error('error: specify either manifests with -f or an operator with --server');
}

/** Adds the options of {@link SourceFlags} to a command. */
export const withSource = (command: Command): Command => command.addOption(filenameOption()).addOption(serverOption());

/** Describes the source in messages. */
export const sourceOf = ({ filename, server = DEFAULT_SERVER }: SourceFlags): string =>
  filename.length === 0 ? `by the operator at ${server}` : `in ${filename.join(', ')}`;
