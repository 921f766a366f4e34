/** The command line: `karpenter` and `kubectl karpenter`. Each verb loads on its use, so that every verb starts fast. */

import { Command, CommanderError } from 'commander';
import { own, VERSION } from '#lib';
import { filterOutputs } from '#observe/logger';
import { showExamples } from './describe.ts';
import { endProgress, startProgress } from './progress.ts';

/** Headings of `karpenter --help`, in its order. Each verb is listed below one question. */
export const QUESTIONS = {
  why: 'Why is it so?',
  cost: 'Which nodes run, and how much do they cost?',
  whatIf: 'Which nodes would run if ...?',
  control: 'Stop it, and let it go on:',
  laptop: 'Run it on this machine:',
  migration: 'Come from another autoscaler or an older version:',
  shell: 'Use this program:',
} as const;

interface Verb {
  readonly question: keyof typeof QUESTIONS;
  readonly summary: string;
  readonly load: () => Promise<Command>;
}

/** Verbs in the order of the help. */
export const VERBS: Readonly<Record<string, Verb>> = {
  explain: {
    question: 'why',
    summary:
      'explain pending pods, launched nodes, nodes that do not join or are not removed, the room of new nodes, blockers and budgets',
    load: async () => (await import('./explain.ts')).explainCommand(),
  },
  log: {
    question: 'why',
    summary: 'list decisions of the operator with their reasons, and nodes and price before and after, or follow them',
    load: async () => (await import('./log.ts')).logCommand(VERSION),
  },
  mcp: {
    question: 'why',
    summary: 'serve explanations, costs, decisions and simulations to an assistant (Model Context Protocol)',
    load: async () => (await import('./mcp.ts')).mcpCommand(VERSION),
  },
  offerings: {
    question: 'why',
    summary: 'list unavailable offerings (instance type, zone, capacity type), with reason and time',
    load: async () => (await import('./offerings.ts')).offeringsCommand(),
  },
  doctor: {
    question: 'why',
    summary: 'check an AWS account and a cluster against the requirements of the operator',
    load: async () => {
      const [{ doctorCommand }, { examine }] = await Promise.all([import('./doctor.ts'), import('#aws/doctor')]);
      return doctorCommand(VERSION, examine);
    },
  },
  top: {
    question: 'cost',
    summary: 'watch nodes, pending pods and decisions of a live cluster in the terminal',
    load: async () => (await import('./top.ts')).topCommand(VERSION),
  },
  cost: {
    question: 'cost',
    summary: 'show the current cost of nodes by NodePool, zone, namespace or workload, or past costs',
    load: async () => (await import('./cost.ts')).costCommand(VERSION),
  },
  efficiency: {
    question: 'cost',
    summary: 'compare the requests of pods with their use, and show the cost with requests that fit',
    load: async () => (await import('./efficiency.ts')).efficiencyCommand(VERSION),
  },
  report: {
    question: 'cost',
    summary: 'report decisions, savings and idle nodes of the last days, or each consolidation',
    load: async () => (await import('./report.ts')).reportCommand(),
  },
  prices: {
    question: 'cost',
    summary: 'create a price book from your Savings Plans and reserved instances',
    load: async () => (await import('./prices.ts')).pricesCommand(),
  },
  simulate: {
    question: 'whatIf',
    summary: 'show which nodes would be launched for the pods in your manifests, and why',
    load: async () => (await import('./simulate.ts')).simulateCommand(),
  },
  snapshot: {
    question: 'whatIf',
    summary: 'write the objects of a live cluster to one file for commands that accept -f, without secrets',
    load: async () => (await import('./snapshot.ts')).snapshotCommand(VERSION),
  },
  replay: {
    question: 'whatIf',
    summary: 'replay a trace in virtual time and compare the costs of different settings',
    load: async () => (await import('./replay.ts')).replayCommand(),
  },
  record: {
    question: 'whatIf',
    summary: 'record the changes of a live cluster as a trace for replay, without secrets',
    load: async () => (await import('./record.ts')).recordCommand(VERSION),
  },
  trace: {
    question: 'whatIf',
    summary: 'create traces from a seed, audit logs or CSV, and check them',
    load: async () => (await import('./trace.ts')).traceCommand(),
  },
  pause: {
    question: 'control',
    summary: 'stop launches, voluntary disruption or both for some time, with a reason that every view shows',
    load: async () => (await import('./pause.ts')).pauseCommand(VERSION),
  },
  resume: {
    question: 'control',
    summary: 'end a pause',
    load: async () => (await import('./pause.ts')).resumeCommand(VERSION),
  },
  demo: {
    question: 'laptop',
    summary: 'run everything on this machine: a local cluster, local AWS endpoints, the operator and a workload',
    load: async () => (await import('./demo.ts')).demoCommand(),
  },
  local: {
    question: 'laptop',
    summary: 'run a local cluster and local AWS endpoints for your own kubectl, aws and operator',
    load: async () => (await import('./local.ts')).localCommand(),
  },
  migrate: {
    question: 'migration',
    summary: 'show the status and the plan of a migration from older versions or other autoscalers',
    load: async () => (await import('./migrate.ts')).migrateCommand(VERSION),
  },
  convert: {
    question: 'migration',
    summary: 'convert older manifests, Helm values and IAM policies to v1, and node groups to NodePools',
    load: async () => (await import('./convert.ts')).convertCommand(),
  },
  completion: {
    question: 'shell',
    summary: 'print a completion script for bash, zsh, fish or kubectl',
    load: async () => (await import('./completion.ts')).completionCommand(wholeProgram),
  },
};

/** Verbs that run until they are stopped and print their own progress. */
const NARRATING: ReadonlySet<string> = new Set(['demo', 'local', 'mcp', 'record', 'replay', 'snapshot', 'top']);

const named = (): Command =>
  new Command('karpenter')
    .description('Launches nodes for pending pods and removes nodes that are no longer needed.')
    .version(VERSION)
    // options after a nested verb belong to this verb
    .enablePositionalOptions();

/** Current names of former commands. */
const MOVED: Readonly<Record<string, string>> = {
  blockers: 'explain blockers',
  budgets: 'explain budgets',
  moves: 'report moves',
};

/** @param replacement current name of the command, shown after an error */
function overview(replacement?: string): Command {
  const hint =
    replacement === undefined ? 'karpenter --help lists the commands' : `Did you mean karpenter ${replacement}?`;
  const program = strict(named());
  for (const [name, { question, summary }] of Object.entries(VERBS))
    program.command(name).description(summary).helpGroup(QUESTIONS[question]);
  return program
    .commandsGroup(QUESTIONS.shell)
    .helpCommand('help [command]', 'display help for command')
    .showHelpAfterError(`(${hint})`);
}

/** Returns the command line with all verbs, for reference pages and shell completion. */
export async function wholeProgram(): Promise<Command> {
  const program = named();
  for (const { load, question } of Object.values(VERBS))
    program.addCommand((await load()).helpGroup(QUESTIONS[question]));
  return program;
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
      const command = strict(named().addCommand(showExamples(await verb.load())));
      if (!NARRATING.has(first ?? '')) startProgress(`karpenter ${first}`);
      await command.parseAsync([...args], { from: 'user' });
      return Number(process.exitCode ?? 0);
    }
    const program = overview(own(MOVED, first ?? ''));
    if (first === undefined) {
      program.outputHelp({ error: true });
      return 2;
    }
    // `karpenter help explian` must not print the help of all commands
    await program.parseAsync(first.startsWith('-') ? [...args] : [first], { from: 'user' });
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
