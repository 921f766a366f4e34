/** The real kubectl, whose output is compared between two API servers. */
import { execFile } from 'node:child_process';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { steadyClock } from '#lib/clock';
import { startApiServer } from '#local/testing';
import { type ControlPlane, startControlPlane } from './controlplane.ts';

const run = promisify(execFile);

interface Printed {
  readonly code: number;
  readonly text: string;
}

export type Kubectl = (...argv: readonly string[]) => Promise<Printed>;

const UID = /[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g;

/** Removes values that differ between servers, and the padding that depends on them. */
const normal = (text: string): string =>
  text
    .replace(UID, 'UID')
    .replace(/\d{4}-\d\d-\d\d[T ]\d\d:\d\d:\d\d(Z| \+0000 UTC)/g, 'TIME')
    .replace(/\w{3}, \d\d \w{3} \d{4} \d\d:\d\d:\d\d [+-]\d{4}/g, 'TIME')
    .replace(/\b(\d+[dhms])+\b|<invalid>/g, 'AGE')
    .replace(/(resourceVersion|Resource Version): +"?\d+"?/g, 'VERSION')
    .replace(/ +/g, ' ');

/** Returns a function that runs kubectl with a kubeconfig and a home of its own. */
async function kubectl({ binaries }: ControlPlane, folder: string, name: string, kubeconfig: string): Promise<Kubectl> {
  // Folder of the discovery cache.
  const home = join(folder, name);
  await mkdir(home);
  const env = { ...process.env, HOME: home, KUBECONFIG: kubeconfig };
  return async (...argv) => {
    try {
      const { stdout, stderr } = await run(binaries.kubectl, argv, { env, maxBuffer: 64 * 1024 * 1024 });
      return { code: 0, text: normal(stderr + stdout) };
    } catch (error) {
      const { code, stdout, stderr } = error as {
        readonly code: number;
        readonly stdout: string;
        readonly stderr: string;
      };
      return { code, text: normal(stderr + stdout) };
    }
  };
}

/** A real API server and the local one, each with its kubectl. */
export interface BothServers {
  /** Folder for files of the test. */
  readonly folder: string;
  readonly real: Kubectl;
  readonly ours: Kubectl;
  stop(): Promise<void>;
}

export async function startBothServers(): Promise<BothServers> {
  const folder = await mkdtemp(join(tmpdir(), 'karpenter-kubectl-'));
  const plane = await startControlPlane({ controllers: false });
  const local = await startApiServer({ clock: steadyClock() });
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, local.kubeconfig());
  return {
    folder,
    real: await kubectl(plane, folder, 'real', plane.kubeconfig),
    ours: await kubectl(plane, folder, 'ours', kubeconfig),
    stop: async () => {
      await local.close();
      await plane.stop();
      await rm(folder, { recursive: true, force: true });
    },
  };
}
