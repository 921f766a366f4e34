/** Common options of commands that read a dump of a cluster, or data from its operator. */
import { type Command, Option } from 'commander';
import { withCluster } from './cluster.ts';
import { DEFAULT_SERVER } from './operator.ts';
import type { LeaderFlags } from './operator-or-cluster.ts';
import { filenameOption } from './scenario.ts';

export interface SourceFlags extends LeaderFlags {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
}

export const clusterServerOption = (): Option =>
  new Option(
    '--server <url>',
    `metrics address of the operator, for example ${DEFAULT_SERVER} (default without manifests: the operator in the cluster of the kubeconfig)`,
  );

export const operatorNamespaceOption = (): Option =>
  new Option(
    '--operator-namespace <namespace>',
    'namespace of the operator (default: the namespace of the ServiceAccount that has the rights of the operator)',
  );

/** Exits if both sources are given, because otherwise one of them would be ignored silently. */
export function refuseTwoSources(
  command: Command,
  { filename, server }: Pick<SourceFlags, 'filename' | 'server'>,
): void {
  if (filename.length > 0 && server !== undefined)
    command.error('error: specify either manifests with -f or an operator with --server');
}

/** Adds the options of {@link LeaderFlags} to a command. */
export const withLeader = (command: Command): Command =>
  withCluster(command.addOption(clusterServerOption()).addOption(operatorNamespaceOption()));

/** Adds the options of {@link SourceFlags} to a command. */
export const withSource = (command: Command): Command => withLeader(command.addOption(filenameOption()));

/** Describes the operator in messages. */
export const leaderOf = ({ server }: { readonly server?: string | undefined }): string =>
  server === undefined ? 'by the operator' : `by the operator at ${server}`;

/** Describes the source in messages. */
export const sourceOf = ({ filename, server }: Pick<SourceFlags, 'filename' | 'server'>): string =>
  filename.length === 0 ? leaderOf({ server }) : `in ${filename.join(', ')}`;
