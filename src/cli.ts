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
    'run everything on this machine: a local cluster, local AWS endpoints, the operator and a workload',
    async () => (await import('./cli/demo.ts')).demoCommand(),
  ],
  local: [
    'run a local cluster and local AWS endpoints for your own kubectl, aws and operator',
    async () => (await import('./cli/local.ts')).localCommand(),
  ],
  top: [
    'watch nodes, pending pods and decisions of a live cluster in the terminal',
    async () => (await import('./cli/top.ts')).topCommand(VERSION),
  ],
  explain: [
    'explain why nodes are not disrupted and why pods stay pending',
    async () => (await import('./cli/explain.ts')).explainCommand(),
  ],
  blockers: [
    'list the objects that block drains and disruption now, and the cost of the wait',
    async () => (await import('./cli/blockers.ts')).blockersCommand(),
  ],
  budgets: [
    'show how many nodes the disruption budgets allow to be disrupted, by time',
    async () => (await import('./cli/budgets.ts')).budgetsCommand(),
  ],
  completion: [
    'print a completion script for bash, zsh or fish',
    async () => (await import('./cli/completion.ts')).completionCommand(wholeProgram),
  ],
  moves: [
    'list consolidations, their savings, and which of them were undone',
    async () => (await import('./cli/moves.ts')).movesCommand(),
  ],
  cost: [
    'show the current cost of nodes by NodePool, zone, namespace or workload, or past costs',
    async () => (await import('./cli/cost.ts')).costCommand(VERSION),
  ],
  report: [
    'report decisions, savings and idle nodes of the last days',
    async () => (await import('./cli/report.ts')).reportCommand(),
  ],
  offerings: [
    'list unavailable offerings (instance type, zone, capacity type), with reason and time',
    async () => (await import('./cli/offerings.ts')).offeringsCommand(),
  ],
  prices: [
    'create a price book from your Savings Plans and reserved instances',
    async () => (await import('./cli/prices.ts')).pricesCommand(),
  ],
  doctor: [
    'check an AWS account and a cluster against the requirements of the operator',
    async () => (await import('./cli/doctor.ts')).doctorCommand(VERSION),
  ],
  migrate: [
    'show the status and the plan of a migration from older versions or other autoscalers',
    async () => (await import('./cli/migrate.ts')).migrateCommand(VERSION),
  ],
  snapshot: [
    'write the objects of a live cluster to one file for commands that accept -f, without secrets',
    async () => (await import('./cli/snapshot.ts')).snapshotCommand(VERSION),
  ],
  record: [
    'record the changes of a live cluster as a trace for replay, without secrets',
    async () => (await import('./cli/record.ts')).recordCommand(VERSION),
  ],
  trace: [
    'create traces from a seed, audit logs or CSV, and check them',
    async () => (await import('./cli/trace.ts')).traceCommand(),
  ],
  simulate: [
    'show which nodes would be launched for the pods in your manifests, and why',
    async () => (await import('./cli/simulate.ts')).simulateCommand(),
  ],
  replay: [
    'replay a trace in virtual time and compare the costs of different settings',
    async () => (await import('./cli/replay.ts')).replayCommand(),
  ],
  convert: [
    'convert older manifests, Helm values and IAM policies to v1, and node groups to NodePools',
    async () => (await import('./cli/convert.ts')).convertCommand(),
  ],
};

/** Verbs that run until they are stopped and print their own progress. */
const NARRATING: ReadonlySet<string> = new Set(['demo', 'local', 'record', 'replay', 'snapshot', 'top']);

const named = (): Command =>
  new Command('karpenter')
    .description('Launches nodes for pending pods and removes nodes that are no longer needed.')
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
