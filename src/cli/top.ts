/** Command `karpenter top`. Shows nodes, pending pods and decisions of a live cluster in a terminal. */
import { Command, InvalidArgumentError, Option } from 'commander';
import type { StringMap } from '#api/objects';
import { messageOf } from '#lib';
import { realClock } from '#lib/clock';
import { labelSelector } from '#local/api-conventions';
import { reading, withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { OperatorAddress } from './operator-address.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { terminalWidth } from './render/wrap.ts';
import { instanceTypesOption, type TypesFor, typesFor } from './scenario.ts';
import { operatorNamespaceOption } from './source.ts';
import { columnsToSort, INITIAL, type ScreenChoices, shownGroups } from './top/choices.ts';

interface Flags extends OperatorFlags {
  readonly server?: string;
  readonly instanceTypes?: string;
  readonly once?: boolean;
  readonly selector?: (labels: StringMap) => boolean;
  readonly labelColumns?: readonly string[];
  readonly sort?: string;
  readonly group?: string;
}

const HELP = `
Nodes are grouped by NodePool, with requested CPU and memory, pods, price, age, state, and the operator's verdict about their
disruption. Below are pending pods with the operator's reason, and its latest decisions. Prices are what AWS bills: instances,
surplus CPU credits, volumes and public addresses, without Savings Plans and reserved instances, which karpenter cost subtracts.

Keys: arrows or j and k select a row, Enter explains it, s changes the order, r reverses it, g changes the groups, / filters, Esc goes
back, q quits.

The kubeconfig needs get, list and watch for pods, nodes, events, NodePools, NodeClaims and EC2NodeClasses. If it may forward ports,
and list ClusterRoles and ClusterRoleBindings, verdicts and prices are those of the operator. Otherwise, verdicts come from the events of the nodes, and prices from the built-in
catalogue, in which spot prices are invented. --server names an operator that is not found, or that runs outside the cluster.`;

/** Columns of a frame that is not printed on a terminal. */
const WIDE = 160;

export const topCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('top').description('Watch nodes, pending pods and decisions of a live cluster in the terminal'),
    ),
    [
      { what: 'the cluster of the kubeconfig', command: 'karpenter top' },
      { what: 'with an operator outside the cluster', command: 'karpenter top --server http://127.0.0.1:8080' },
      { what: 'labels as columns', command: 'karpenter top -L topology.kubernetes.io/zone,example.com/team' },
      { what: 'print the view once', command: 'karpenter top --once' },
    ],
  )
    .addOption(
      new Option(
        '--server <url>',
        'metrics address of the operator (default: the leader in the cluster, by port forwarding)',
      ),
    )
    .addOption(operatorNamespaceOption())
    .addOption(instanceTypesOption())
    .addOption(
      new Option('-l, --selector <selector>', 'show only nodes with these labels, for example team=web').argParser(
        selectorOf,
      ),
    )
    .addOption(
      new Option('-L, --label-columns <keys>', 'labels that are columns, separated by commas').argParser(
        (text: string, known: readonly string[] = []) => [...known, ...keysIn(text)],
      ),
    )
    .option('--sort <column>', 'column that orders the nodes (default: price)')
    .option('--group <property>', 'property that groups the nodes (default: NodePool)')
    .option('--once', 'print the view once and exit (default if the output is not a terminal)')
    .addHelpText('after', HELP)
    .action(async ({ server, instanceTypes, once, selector, labelColumns = [], sort, group, ...cluster }: Flags) => {
      const choices = choicesOf({ labels: labelColumns, sort, group });
      await reading(cluster, `karpenter-top/${version}`, async (client) => {
        const ended = new AbortController();
        const operator = new OperatorAddress(client, cluster, server);
        try {
          const { watchCluster } = await import('./top/watch.ts');
          const watched = await watchCluster({
            client,
            clusterName: client.server.host,
            clock: realClock(),
            types: typesWithin(instanceTypes, operator),
            operator: (isLost) => operator.url(isLost),
            signal: ended.signal,
            selects: selector,
          });
          if (!once && process.stdout.isTTY && process.stdin.isTTY) {
            await (await import('./top/screen.ts')).showScreen(watched, process, choices);
            return;
          }
          const { printFrame } = await import('./top/frame.ts');
          const columns = Math.min(WIDE, terminalWidth());
          const { verdictOf } = watched;
          const state = watched.state();
          process.stdout.write(printFrame({ state, choices, columns, verdictOf, problem: watched.problem() }));
        } finally {
          ended.abort();
          await operator.close();
        }
      });
    });

/** @throws InvalidArgumentError if the selector cannot be parsed */
function selectorOf(text: string): (labels: StringMap) => boolean {
  try {
    return labelSelector(text) ?? (() => true);
  } catch (error) {
    throw new InvalidArgumentError(`Expected a label selector, for example team=web: ${messageOf(error)}`);
  }
}

const keysIn = (text: string): readonly string[] =>
  text.split(',').map((key) => {
    if (key.trim() === '')
      throw new InvalidArgumentError('A key is empty. Expected keys of labels, for example example.com/team.');
    return key.trim();
  });

/** @throws Error if no column or property has this name */
function choicesOf({
  labels,
  sort = INITIAL.sort,
  group = INITIAL.group,
}: {
  readonly labels: readonly string[];
  readonly sort?: string | undefined;
  readonly group?: string | undefined;
}): ScreenChoices {
  return {
    ...INITIAL,
    labels,
    sort: oneOf('--sort', sort, columnsToSort(labels)),
    group: oneOf('--group', group, shownGroups(labels)),
  };
}

function oneOf(flag: string, given: string, names: readonly string[]): string {
  const found = names.find((name) => name.toLowerCase() === given.toLowerCase());
  if (found === undefined) throw new Error(`${flag} "${given}" is not one of ${names.join(', ')}; -L adds labels`);
  return found;
}

/** Returns the instance types of `--instance-types`, of the operator, or of the built-in catalogue. */
const typesWithin =
  (given: string | undefined, operator: OperatorAddress): TypesFor =>
  async (manifests, nowMs) => {
    if (given !== undefined) return typesFor({ instanceTypes: given }, manifests, nowMs);
    try {
      const url = await operator.url();
      if (url !== undefined) return await typesFor({ instanceTypes: url }, manifests, nowMs);
    } catch {
      // the view reports that the operator cannot be reached
    }
    return typesFor({}, manifests, nowMs);
  };
