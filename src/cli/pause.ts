/** Commands `karpenter pause` and `karpenter resume`. They write the ConfigMap that the operator reads every three seconds. */
import { Command, InvalidArgumentError, Option } from 'commander';
import {
  apiVersionOf,
  CONFIG_MAP,
  type ConfigMap,
  PAUSE_NAME,
  type Pause,
  type PauseScope,
  pauseData,
  pauseText,
  readPause,
} from '#api/objects';
import { ApiError, isConflict } from '#kube/client';
import type { HttpKubeClient } from '#kube/connection';
import { messageOf } from '#lib';
import { realClock } from '#lib/clock';
import { period } from './budgets.ts';
import { withCluster } from './cluster.ts';
import { withExamples } from './describe.ts';
import { askOperator, type PauseView } from './operator.ts';
import { operatorAccounts } from './operator-accounts.ts';
import { fromLeader, type LeaderFlags } from './operator-or-cluster.ts';
import { writeNotes } from './scenario.ts';
import { operatorNamespaceOption } from './source.ts';

interface PauseFlags extends LeaderFlags {
  readonly launches?: boolean;
  readonly disruption?: boolean;
  readonly all?: boolean;
  readonly reason: string;
  /** Milliseconds since the epoch. */
  readonly until: number;
}

const DEFAULT_NAMESPACE = 'kube-system';
const MOST_TRIES = 3;
/** Number of questions, one per second, until the operator must have read the ConfigMap. */
const MOST_QUESTIONS = 8;

const GOES_ON: Readonly<Record<PauseScope, string>> = {
  launches: 'Nodes are removed as before, unless they need a replacement. Requested instances become nodes.',
  disruption:
    'Nodes are launched as before. Interruptions by AWS, deletions by users, and drains that have started go on.',
  all: 'Interruptions by AWS, deletions by users, drains that have started, and the removal of unused instances go on.',
};

/** Parses a time in RFC 3339 format, or a duration from now such as `2h`. @throws InvalidArgumentError */
function untilTime(text: string): number {
  const nowMs = Date.now();
  const isTime = /^\d{4}-\d\d-\d\dT\d\d:\d\d/.test(text);
  const ms = isTime ? Date.parse(text) : nowMs + period(text);
  if (!(ms > nowMs))
    throw new InvalidArgumentError('Expected a time in the future, for example 2h, 3d or 2026-01-31T18:00:00Z.');
  return ms;
}

async function writing<T>(
  { kubeconfig, context }: LeaderFlags,
  userAgent: string,
  write: (client: HttpKubeClient) => Promise<T>,
): Promise<T> {
  const { connect } = await import('#kube/connection');
  const { openFence } = await import('#kube/client');
  const client = connect({ clock: realClock(), userAgent, kubeconfig, context, fence: openFence() });
  try {
    return await write(client);
  } finally {
    client.close();
  }
}

/** Returns the namespace of the operator, where its ConfigMaps are. @throws Error if several namespaces have an operator */
async function namespaceFor(client: HttpKubeClient, { operatorNamespace }: LeaderFlags): Promise<string> {
  if (operatorNamespace !== undefined) return operatorNamespace;
  const accounts = await operatorAccounts(client).catch((error: unknown) => {
    throw new Error(`the namespace of the operator is unknown (${messageOf(error)}); use --operator-namespace`);
  });
  const namespaces = [...new Set(accounts.map(({ namespace }) => namespace))];
  if (namespaces.length > 1)
    throw new Error(`several namespaces have an operator (${namespaces.join(', ')}); use --operator-namespace`);
  return namespaces[0] ?? DEFAULT_NAMESPACE;
}

async function store(client: HttpKubeClient, namespace: string, pause: Pause): Promise<void> {
  const data = pauseData(pause);
  for (let tries = 1; ; tries += 1) {
    try {
      const found = await client.find(CONFIG_MAP, { name: PAUSE_NAME, namespace });
      if (found !== undefined) await client.update(CONFIG_MAP, { ...found, data });
      else await client.create(CONFIG_MAP, configMap(namespace, data));
      return;
    } catch (error) {
      if (!isOvertaken(error) || tries === MOST_TRIES) throw error;
    }
  }
}

const isOvertaken = (error: unknown): boolean =>
  isConflict(error) || (error instanceof ApiError && error.reason === 'AlreadyExists');

const configMap = (namespace: string, data: ConfigMap['data']): ConfigMap => ({
  apiVersion: apiVersionOf(CONFIG_MAP),
  kind: CONFIG_MAP.kind,
  metadata: { name: PAUSE_NAME, namespace },
  ...(data && { data }),
});

/** Waits until the operator has read the ConfigMap, with a note on failure. */
async function confirm(flags: LeaderFlags, expected: string | undefined): Promise<boolean> {
  try {
    return await fromLeader(flags, async (server) => {
      for (let left = MOST_QUESTIONS; left > 0; left -= 1) {
        const { paused } = await askOperator<PauseView>(server, '/debug/pause');
        if (paused === expected) return true;
        await new Promise((resolve) => setTimeout(resolve, 1_000));
      }
      writeNotes([
        'the operator does not confirm it; its version may be too old, or it may lack the right to read the ConfigMap',
      ]);
      return false;
    });
  } catch (error) {
    writeNotes([`it is unknown whether the operator has read this (${messageOf(error)})`]);
    return false;
  }
}

async function pause(flags: PauseFlags, version: string): Promise<void> {
  const { launches, disruption, reason, until } = flags;
  const scope: PauseScope = launches ? 'launches' : disruption ? 'disruption' : 'all';
  const wanted = readPause({ data: pauseData({ scope, reason, untilMs: until }) });
  const namespace = await writing(flags, `karpenter-pause/${version}`, async (client) => {
    const found = await namespaceFor(client, flags);
    await store(client, found, wanted);
    return found;
  });
  const text = pauseText(wanted);
  const isConfirmed = await confirm({ ...flags, operatorNamespace: flags.operatorNamespace ?? namespace }, text);
  const lines = [
    `${isConfirmed ? 'The operator confirms: ' : `ConfigMap ${namespace}/${PAUSE_NAME} says: `}${text}`,
    GOES_ON[scope],
    'End the pause earlier with: karpenter resume',
  ];
  process.stdout.write(`${lines.join('\n')}\n`);
}

async function resume(flags: LeaderFlags, version: string): Promise<void> {
  const { namespace, ended } = await writing(flags, `karpenter-resume/${version}`, async (client) => {
    const name = await namespaceFor(client, flags);
    const found = await client.find(CONFIG_MAP, { name: PAUSE_NAME, namespace: name });
    if (found !== undefined) await client.delete(CONFIG_MAP, found.metadata);
    return { namespace: name, ended: found };
  });
  if (ended === undefined) {
    process.stdout.write(`Nothing is paused: namespace ${namespace} has no ConfigMap ${PAUSE_NAME}.\n`);
    return;
  }
  const isConfirmed = await confirm({ ...flags, operatorNamespace: flags.operatorNamespace ?? namespace }, undefined);
  const now = isConfirmed ? 'The operator works again.' : `ConfigMap ${namespace}/${PAUSE_NAME} is deleted.`;
  process.stdout.write(`${now} Until now: ${pauseText(readPause(ended))}\n`);
}

const serverOption = (): Option =>
  new Option(
    '--server <url>',
    'metrics address of the operator (default: the operator in the cluster of the kubeconfig)',
  );

const HELP = `
The pause is the ConfigMap ${PAUSE_NAME} in the namespace of the operator. The operator reads it every three seconds, also after a
restart, and each new leader reads it before it acts. Every view shows the pause, and it ends at its time.`;

/** @param version version of the product */
export const pauseCommand = (version: string): Command =>
  withExamples(
    withCluster(
      new Command('pause').description('Stop launches, voluntary disruption or both for some time, in a live cluster'),
    ),
    [
      { what: 'stop everything now', command: `karpenter pause --all --reason 'incident 42' --until 2h` },
      {
        what: 'keep all nodes during an upgrade',
        command: `karpenter pause --disruption --reason 'upgrade of the CNI' --until 2026-12-24T18:00:00Z`,
      },
      { what: 'show the pause with kubectl', command: `kubectl get configmap ${PAUSE_NAME} -n kube-system -o yaml` },
    ],
  )
    .addOption(
      new Option('--disruption', 'stop consolidation, drift, expiration and repair').conflicts(['launches', 'all']),
    )
    .addOption(new Option('--launches', 'launch no nodes').conflicts(['all']))
    .option('--all', 'stop both (default)')
    .requiredOption('--reason <text>', 'reason, which every view shows')
    .addOption(
      new Option('--until <time>', 'end: a duration from now such as 2h, or a time in RFC 3339 format')
        .argParser(untilTime)
        .makeOptionMandatory(),
    )
    .addOption(serverOption())
    .addOption(operatorNamespaceOption())
    .addHelpText('after', HELP)
    .action((flags: PauseFlags) => pause(flags, version));

/** @param version version of the product */
export const resumeCommand = (version: string): Command =>
  withExamples(
    withCluster(new Command('resume').description('End a pause of launches and disruption in a live cluster')),
    [{ what: 'let the operator work again', command: 'karpenter resume' }],
  )
    .addOption(serverOption())
    .addOption(operatorNamespaceOption())
    .action((flags: LeaderFlags) => resume(flags, version));
