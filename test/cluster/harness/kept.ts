/** The control plane that `npm run cluster:up` starts and `npm run cluster:down` stops. */
import { execFile } from 'node:child_process';
import { readFile, rm, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { cacheFolder } from './binaries.ts';
import type { ControlPlane } from './controlplane.ts';
import { eventually } from './processes.ts';

const run = promisify(execFile);
const STOP_LIMIT_MS = 10_000;

export interface Kept {
  readonly url: string;
  readonly folder: string;
  readonly kubeconfig: string;
  /** In the order in which they must be stopped. */
  readonly processes: readonly { readonly name: string; readonly pid: number }[];
}

const stateFile = (): string => join(cacheFolder(), 'running.json');

export async function keep({ url, folder, kubeconfig, processes }: ControlPlane): Promise<Kept> {
  const { etcd, apiServer, scheduler, controllerManager } = processes;
  const kept: Kept = {
    url,
    folder,
    kubeconfig,
    processes: [scheduler, controllerManager, apiServer, etcd].flatMap((one) =>
      one ? [{ name: one.name, pid: one.pid }] : [],
    ),
  };
  await writeFile(stateFile(), JSON.stringify(kept, undefined, 2));
  return kept;
}

/** Returns the recorded control plane, running or not. */
export async function kept(): Promise<Kept | undefined> {
  try {
    return JSON.parse(await readFile(stateFile(), 'utf8')) as Kept;
  } catch {
    return undefined;
  }
}

/** Reports whether the process with this ID belongs to the control plane, because IDs are reused. */
async function isOurs({ folder }: Kept, pid: number): Promise<boolean> {
  try {
    const { stdout } = await run('ps', ['-o', 'command=', '-p', String(pid)]);
    return stdout.includes(folder);
  } catch {
    return false;
  }
}

export async function isRunning(one: Kept): Promise<boolean> {
  const alive = await Promise.all(one.processes.map(({ pid }) => isOurs(one, pid)));
  return alive.every(Boolean);
}

/** Stops the processes by their IDs and removes the folder. */
export async function end(one: Kept): Promise<void> {
  for (const { name, pid } of one.processes) {
    if (!(await isOurs(one, pid))) continue;
    process.kill(pid, 'SIGTERM');
    const isGone = async (): Promise<true | undefined> => ((await isOurs(one, pid)) ? undefined : true);
    try {
      await eventually(`the end of ${name}`, isGone, STOP_LIMIT_MS);
    } catch {
      process.kill(pid, 'SIGKILL');
    }
  }
  await rm(one.folder, { recursive: true, force: true });
  await rm(stateFile(), { force: true });
}
