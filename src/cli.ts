/** The command line: `karpenter` and `kubectl karpenter`. Each verb loads on its use, so that every verb starts fast. */

import { Command, CommanderError } from 'commander';
import { showExamples } from './cli/describe.ts';
import { endProgress, startProgress } from './cli/progress.ts';
import { own } from './lib/own.ts';
import { filterOutputs } from './observe/control-characters.ts';
import { VERSION } from './version.ts';

/** Verbs, each with a summary for the help and a loader of its command. */
export const VERBS: Readonly<Record<string, readonly [summary: string, load: () => Promise<Command>]>> = {
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
  blockers: [
    'say what keeps nodes from being drained or disrupted now, and what the wait costs',
    async () => (await import('./cli/blockers.ts')).blockersCommand(),
  ],
  budgets: [
    'say how many nodes the disruption budgets let go, from when to when',
    async () => (await import('./cli/budgets.ts')).budgetsCommand(),
  ],
  completion: [
    'print a script with which bash, zsh or fish completes what you type',
    async () => (await import('./cli/completion.ts')).completionCommand(wholeProgram),
  ],
  moves: [
    'say what was consolidated, whether it lasted, and what it saved',
    async () => (await import('./cli/moves.ts')).movesCommand(),
  ],
  cost: [
    'say what the nodes cost now and who it is spent on, or what was spent',
    async () => (await import('./cli/cost.ts')).costCommand(VERSION),
  ],
  report: [
    'say what the operator did in the last days, what it saved, and which nodes are idle',
    async () => (await import('./cli/report.ts')).reportCommand(),
  ],
  offerings: [
    'say which instance types, zones and capacity types are out, why, and until when',
    async () => (await import('./cli/offerings.ts')).offeringsCommand(),
  ],
  prices: [
    'make a price book of the Savings Plans and reserved instances that AWS lists',
    async () => (await import('./cli/prices.ts')).pricesCommand(),
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
  record: [
    'watch a live cluster, and write what happened as a trace for replay, without secrets',
    async () => (await import('./cli/record.ts')).recordCommand(VERSION),
  ],
  trace: [
    'make traces of the life of a cluster, from a seed, audit logs or CSV, and look at them',
    async () => (await import('./cli/trace.ts')).traceCommand(),
  ],
  simulate: [
    'say which nodes would be bought for the pods in your manifests, and why',
    async () => (await import('./cli/simulate.ts')).simulateCommand(),
  ],
  replay: [
    "play a cluster's life in virtual time, and say what it would have cost under other settings",
    async () => (await import('./cli/replay.ts')).replayCommand(),
  ],
  convert: [
    'convert older manifests, values and policies to v1, and groups of other autoscalers to NodePools',
    async () => (await import('./cli/convert.ts')).convertCommand(),
  ],
};

/** Verbs that run until they are stopped and print their own progress. */
const NARRATING: ReadonlySet<string> = new Set(['demo', 'local', 'record', 'replay', 'snapshot']);

const named = (): Command =>
  new Command('karpenter')
    .description('Buys the nodes that your pending pods need, and gives back those that they no longer need.')
    .version(VERSION)
    // options after a nested verb belong to this verb
    .enablePositionalOptions();

function overview(): Command {
  const program = strict(named());
  for (const [name, [summary]] of Object.entries(VERBS)) program.command(name).description(summary);
  return program;
}

/** Returns the command line with all verbs, for reference pages and shell completion. */
export async function wholeProgram(): Promise<Command> {
  const verbs = await Promise.all(Object.values(VERBS).map(([, load]) => load()));
  return verbs.reduce((program, verb) => program.addCommand(verb), named());
}

/** Makes a command and its nested commands throw exceptions instead of exiting the process. */
function strict(command: Command): Command {
  for (const nested of command.exitOverride().commands) strict(nested);
  return command;
}

/** Converts `karpenter help explain node` to `karpenter explain node --help`. */
const withoutHelp = (args: readonly string[]): readonly string[] =>
  args[0] === 'help' ? [...args.slice(1), '--help'] : args;

/**
 * Returns the exit code for an invalid command line. Normally this is 2. With `--exit-code`, 2 already means that there are
 * changes, and for `migrate status` that work remains, so the code is 1.
 */
const misuse = (args: readonly string[]): number =>
  args.includes('--exit-code') || (args[0] === 'migrate' && args[1] === 'status') ? 1 : 2;

/** Runs one command line and returns the exit code. Normally 2 means that the command line is invalid. */
export async function runCommandLine(given: readonly string[]): Promise<number> {
  const args = withoutHelp(given);
  const [first] = args;
  const verb = own(VERBS, first ?? '');
  try {
    if (verb) {
      const command = strict(named().addCommand(showExamples(await verb[1]())));
      if (!NARRATING.has(first ?? '')) startProgress(`karpenter ${first}`);
      await command.parseAsync([...args], { from: 'user' });
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
    endProgress();
    // Commander has already printed the error. Its help counts as a success.
    if (error instanceof CommanderError) return error.exitCode === 0 ? 0 : misuse(args);
    process.stderr.write(`karpenter ${first}: ${error instanceof Error ? error.message : String(error)}\n`);
    return 1;
  } finally {
    endProgress();
  }
}

/** Runs the command line of this process, and sets its exit code. */
export async function main(): Promise<void> {
  filterOutputs();
  // a reader that closes the pipe early, such as `head`, is not a failure
  process.stdout.on('error', (error: NodeJS.ErrnoException) => {
    if (error.code === 'EPIPE') process.exit(0);
    throw error;
  });
  process.exitCode = await runCommandLine(process.argv.slice(2));
}
