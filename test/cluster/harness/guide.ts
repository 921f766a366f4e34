/** The commands of a page that a reader types in several terminals of a checkout, with the local world and the real kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { commandsUnder } from '../../support/readme-commands.ts';
import { eventually } from './processes.ts';
import { type Shell, startShell } from './shell.ts';

const ROOT = resolve(import.meta.dirname, '../../..');
const LIMIT_MS = 180_000;
/** Each poll starts kubectl. */
const POLL_MS = 1_000;

export interface Guide {
  /** Commands of the last terminal, after those of the local cluster and the operator. */
  readonly commands: readonly string[];
  readonly shell: Shell;
  /** Repeats a command until its output matches, and returns the output. */
  shows(command: string, pattern: RegExp): Promise<string>;
  stop(): Promise<void>;
}

/** Starts the local cluster and the operator by the first two commands under the heading. */
export async function startGuide(page: string, heading: string): Promise<Guide> {
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-guide-'));
  const running: ChildProcess[] = [];
  const stop = async (): Promise<void> => {
    for (const child of running.splice(0).toReversed()) await interrupt(child);
    await rm(folder, { recursive: true, force: true });
  };
  try {
    const [local = '', operator = '', ...commands] = await commandsUnder(page, heading);
    if (local !== 'npx karpenter local') throw new Error(`the first command of ${page} is ${local}`);
    let output = '';
    // the reader's commands, with fast machines, and without files in the checkout
    const world = start(`${local} --machine-speed 20 --kubeconfig ${join(folder, 'kubeconfig')}`, {});
    running.push(world);
    world.stdout?.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
    await eventually('the local cluster', () => output.includes('Press Ctrl-C') || undefined, LIMIT_MS);
    const lines = [...output.matchAll(/^export (\w+)=(.*)$/gm)];
    const exports = Object.fromEntries(
      lines.map(([, name = '', value = '']) => [name, value.replace(/^'(.*)'$/, '$1')]),
    );
    running.push(start(operator, { ...exports, METRICS_PORT: '0', HEALTH_PROBE_PORT: '0' }));
    const shell = await startShell(folder, exports.KUBECONFIG ?? '', exports);
    const shows = (command: string, pattern: RegExp): Promise<string> =>
      eventually(
        `${command} to show ${pattern}`,
        async () => {
          const shown = await shell(command);
          return pattern.test(shown) ? shown : undefined;
        },
        LIMIT_MS,
        POLL_MS,
      );
    return { commands, shell, shows, stop };
  } catch (error) {
    await stop();
    throw error;
  }
}

/** Starts a command in its own process group, like a terminal. */
function start(command: string, env: Readonly<Record<string, string>>): ChildProcess {
  const child = spawn('bash', ['-c', command], { cwd: ROOT, env: { ...process.env, ...env }, detached: true });
  // an unread pipe would block the command
  for (const stream of [child.stdout, child.stderr]) stream.resume();
  return child;
}

async function interrupt(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.pid === undefined) return;
  const ended = new Promise((end) => child.once('exit', end));
  process.kill(-child.pid, 'SIGINT');
  await ended;
}
