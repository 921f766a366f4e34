/** Command `karpenter log`. Lists the decisions of the operator with their reasons, oldest first, and follows new ones. */
import { Command, Option } from 'commander';
import type { HttpKubeReader } from '#kube/connection';
import { messageOf } from '#lib';
import { type LogLine, logLines, NewLines } from '#observe/history';
import { periodOption } from './budgets.ts';
import { reading, withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { keptHistory } from './kept-history.ts';
import { askOperator, DEFAULT_SERVER } from './operator.ts';
import { operatorAccounts } from './operator-accounts.ts';
import { OperatorAddress } from './operator-address.ts';
import type { OperatorFlags } from './operator-pod.ts';
import { logText } from './render/log.ts';
import { type Format, formatted, outputOption } from './render/output.ts';
import { nowOption, writeNotes } from './scenario.ts';
import { operatorNamespaceOption } from './source.ts';

interface Flags extends OperatorFlags {
  readonly server?: string;
  readonly since: number;
  readonly nodepool?: string;
  readonly namespace?: string;
  readonly node?: string;
  readonly follow?: boolean;
  readonly now?: number;
  readonly output: Format;
}

type Selection = Pick<Flags, 'nodepool' | 'namespace' | 'node'>;

const FOLLOW_MS = 2_000;
const DEFAULT_NAMESPACE = 'kube-system';

const askLog = (
  server: string,
  sinceMs: number,
  { nodepool, namespace, node }: Selection,
): Promise<readonly LogLine[]> => {
  const query = new URLSearchParams({ since: new Date(sinceMs).toISOString() });
  for (const [name, value] of Object.entries({ nodepool, namespace, node })) if (value) query.set(name, value);
  return askOperator(server, `/debug/log?${query}`);
};

/**
 * Returns the lines of the operator. Without an operator, returns the lines that it stored in its namespace.
 * @throws Error if neither can be read
 */
async function linesFor(
  flags: Flags,
  sinceMs: number,
  { operator, client }: { readonly operator: OperatorAddress; readonly client: HttpKubeReader | undefined },
): Promise<readonly LogLine[]> {
  let problem: string;
  try {
    const server = await operator.url();
    if (server !== undefined) return await askLog(server, sinceMs, flags);
    problem = operator.problem;
  } catch (error) {
    if (client === undefined) throw error;
    problem = messageOf(error);
  }
  if (client === undefined) return [];
  const namespace = flags.operatorNamespace ?? (await namespaceOfOperator(client));
  const { decisions } = await keptHistory(client, namespace, '--operator-namespace').catch((error: unknown) => {
    const stored = `and its stored log cannot be read (${messageOf(error)})`;
    throw new Error(`the operator cannot be reached (${problem}), ${stored}; use --server with its metrics port`);
  });
  writeNotes([`the operator cannot be reached (${problem}), so decisions of its last five minutes can be missing`]);
  const { nodepool: nodePool, namespace: ofPods, node } = flags;
  return logLines(decisions.entries, { sinceMs, nodePool, namespace: ofPods, node });
}

async function namespaceOfOperator(client: HttpKubeReader): Promise<string> {
  const accounts = await operatorAccounts(client).catch(() => []);
  return accounts[0]?.namespace ?? DEFAULT_NAMESPACE;
}

/** Prints new lines until the process ends. Failures are noted once, and tried again. */
async function follow(
  flags: Flags,
  operator: OperatorAddress,
  { shown, sinceMs }: { readonly shown: readonly LogLine[]; readonly sinceMs: number },
): Promise<never> {
  const unseen = new NewLines(shown, sinceMs);
  let problem = '';
  for (;;) {
    await new Promise((resolve) => setTimeout(resolve, FOLLOW_MS));
    try {
      const server = await operator.url(problem !== '');
      if (server === undefined) throw new Error(operator.problem);
      const lines = unseen.take(await askLog(server, unseen.sinceMs, flags));
      process.stdout.write(await outputOf(lines, flags, { isFirst: false }));
      problem = '';
    } catch (error) {
      if (problem === '') writeNotes([`${messageOf(error)}; trying again`]);
      problem = messageOf(error);
    }
  }
}

/** Returns the lines in an output format. While following, each JSON value is one line. */
async function outputOf(
  lines: readonly LogLine[],
  { output, follow: isFollowing = false }: Flags,
  { isFirst = true }: { readonly isFirst?: boolean } = {},
): Promise<string> {
  if (isFollowing && output === 'json') return lines.map((line) => `${JSON.stringify(line)}\n`).join('');
  if (!isFirst && lines.length === 0) return '';
  return formatted(output, lines, (each) => logText(each, { isFirst }));
}

async function run(flags: Flags, client: HttpKubeReader | undefined): Promise<void> {
  const { server, since, now: nowMs = Date.now(), follow: isFollowing, ...cluster } = flags;
  const operator = new OperatorAddress(client, cluster, server);
  try {
    const sinceMs = nowMs - since;
    const lines = await linesFor(flags, sinceMs, { operator, client });
    process.stdout.write(await outputOf(lines, flags));
    if (isFollowing) await follow(flags, operator, { shown: lines, sinceMs });
  } finally {
    await operator.close();
  }
}

const HELP = `
Each line has the time, the kind of decision, the number and the price of the nodes before and after it, and the reason. Kinds:
launch, join, move, drift, expiration, repair, interruption, deletion (also by other clients), failure (of a launch), refusal (pods
that no NodePool can serve), hold (launches that are held back), emptying (nodes that kube-scheduler fills last) and leader.

The operator keeps its last 5,000 decisions in the ConfigMap karpenter-history, over restarts. If the operator cannot be reached,
the lines are read from there.`;

/** @param version version of the product */
export const logCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('log').description(
        'List decisions of the operator with their reasons, oldest first, or follow new ones',
      ),
    ),
    [
      { what: 'the last hour', command: 'karpenter log' },
      { what: 'why a node came and went', command: 'karpenter log --since 7d --node ip-10-0-1-17.ec2.internal' },
      { what: 'decisions that concern the pods of a namespace', command: 'karpenter log --since 1d --namespace shop' },
      { what: 'new decisions', command: 'karpenter log --follow' },
      {
        what: 'pods that no NodePool could serve today',
        command: `karpenter log --since 24h -o json | jq -r '.[] | select(.kind == "refusal") | [.at, .text] | @tsv'`,
      },
    ],
  )
    .addOption(periodOption('--since <duration>', 'period to show, for example 1h or 7d', '1h'))
    .option('--nodepool <name>', 'only decisions about this NodePool')
    .option('-n, --namespace <name>', 'only decisions that concern pods of this namespace')
    .option('--node <name>', 'only decisions about this Node or NodeClaim')
    .option('-f, --follow', 'print new decisions until interrupted')
    .addOption(
      new Option(
        '--server <url>',
        `metrics address of the operator, for example ${DEFAULT_SERVER} (default: the operator in the cluster of the kubeconfig)`,
      ),
    )
    .addOption(operatorNamespaceOption())
    .addOption(nowOption())
    .addOption(outputOption())
    .addHelpText('after', HELP)
    .action(async (flags: Flags, command: Command) => {
      if (flags.follow && flags.output === 'yaml')
        command.error(
          'error: --follow cannot be combined with -o yaml; use -o json, which prints one line for each decision',
        );
      if (flags.server !== undefined) await run(flags, undefined);
      else await reading(flags, `karpenter-log/${version}`, (client) => run(flags, client));
    });
