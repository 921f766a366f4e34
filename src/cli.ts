/** The command line: `karpenter` and `kubectl karpenter`. Verbs load when they are used, so that each starts fast. */

import { Command, CommanderError } from 'commander';
import { own } from './api/own.ts';
import { VERSION } from './version.ts';

/** Each verb with a line for the help, and where its command lives. */
const VERBS: Readonly<Record<string, readonly [summary: string, load: () => Promise<Command>]>> = {
  demo: [
    'run the whole product on this machine: local cluster, local AWS, the operator, a workload',
    async () => (await import('./cli/demo.ts')).demoCommand(),
  ],
  local: [
    'run a local cluster and a local AWS, for your own kubectl, aws and operator',
    async () => (await import('./cli/local.ts')).localCommand(),
  ],
  explain: [
    'say why nodes are not given back or replaced, and why pods stay pending',
    async () => (await import('./cli/explain.ts')).explainCommand(),
  ],
  moves: [
    'say what was consolidated, whether it lasted, and what it saved',
    async () => (await import('./cli/moves.ts')).movesCommand(),
  ],
  offerings: [
    'say which instance types, zones and capacity types are out, why, and until when',
    async () => (await import('./cli/offerings.ts')).offeringsCommand(),
  ],
  doctor: [
    'check an AWS account and a cluster for what the operator needs',
    async () => (await import('./cli/doctor.ts')).doctorCommand(VERSION),
  ],
  migrate: [
    'say where a cluster is on its way from older versions or other autoscalers, and what the way is',
    async () => (await import('./cli/migrate.ts')).migrateCommand(VERSION),
  ],
  snapshot: [
    'write the objects of a live cluster as one file for the verbs that take -f, without secrets',
    async () => (await import('./cli/snapshot.ts')).snapshotCommand(VERSION),
  ],
  simulate: [
    'say which nodes would be bought for the pods in your manifests, and why',
    async () => (await import('./cli/simulate.ts')).simulateCommand(),
  ],
};

const named = (): Command =>
  new Command('karpenter')
    .description('Buys the nodes that your pending pods need, and gives back those that they no longer need.')
    .version(VERSION);

function overview(): Command {
  const program = strict(named());
  for (const [name, [summary]] of Object.entries(VERBS)) program.command(name).description(summary);
  return program;
}

/** Errors end up here as exceptions, those of nested commands too. */
function strict(command: Command): Command {
  for (const nested of command.exitOverride().commands) strict(nested);
  return command;
}

/** `karpenter help explain node` is `karpenter explain node --help`. */
const withoutHelp = (args: readonly string[]): readonly string[] =>
  args[0] === 'help' ? [...args.slice(1), '--help'] : args;

/** Runs one command line; answers the exit code. 2 means that it was not understood. */
async function main(given: readonly string[]): Promise<number> {
  const args = withoutHelp(given);
  const [first] = args;
  const verb = own(VERBS, first ?? '');
  try {
    if (verb) {
      await strict(named().addCommand(await verb[1]())).parseAsync([...args], { from: 'user' });
      return Number(process.exitCode ?? 0);
    }
    const program = overview();
    if (first === undefined || !first.startsWith('-')) {
      if (first !== undefined) process.stderr.write(`karpenter: unknown command "${first}"\n\n`);
      program.outputHelp({ error: true });
      return 2;
    }
    await program.parseAsync([...args], { from: 'user' });
    return 0;
  } catch (error) {
    // Commander has printed what was wrong; its help counts as a success.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : 2;
    process.stderr.write(`karpenter ${first}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  }
}

// A reader such as `head` that has seen enough is no failure.
process.stdout.on('error', (error: NodeJS.ErrnoException) => {
  if (error.code === 'EPIPE') process.exit(0);
  throw error;
});

process.exitCode = await main(process.argv.slice(2));
