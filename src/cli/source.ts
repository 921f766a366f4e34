/** What verbs have in common that answer over a dump of a cluster, or ask its operator. */
import { type Command, Option } from 'commander';
import { DEFAULT_SERVER } from './operator.ts';
import { filenameOption } from './scenario.ts';

export interface SourceFlags {
  /** Files, folders, or `-` for standard input. */
  readonly filename: readonly string[];
  /** Where an operator serves its metrics; it is asked when there are no manifests. */
  readonly server?: string;
}

export const serverOption = (): Option =>
  new Option(
    '--server <url>',
    `the operator to ask when there is no -f, by its metrics port (default: "${DEFAULT_SERVER}")`,
  );

/** Ends the process where both sources are named: one of them would be passed over in silence. */
export function refuseTwoSources(command: Command, { filename, server }: SourceFlags): void {
  if (filename.length > 0 && server !== undefined)
    command.error('error: name either manifests with -f or an operator with --server');
}

/** Adds the options of {@link SourceFlags} to a verb. */
export const withSource = (command: Command): Command => command.addOption(filenameOption()).addOption(serverOption());

/** For messages: where something was looked for. */
export const sourceOf = ({ filename, server = DEFAULT_SERVER }: SourceFlags): string =>
  filename.length === 0 ? `known to the operator at ${server}` : `in ${filename.join(', ')}`;
