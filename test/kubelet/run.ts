/**
 * `npm run test:kubelet`: builds the image, and runs it on two real kubelets with a real control plane. Installs missing
 * Debian packages as root. Everything runs in namespaces, which the kernel removes with their first process.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdir, mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { basename, join } from 'node:path';
import { binaries, kubeletProgram, stopBuilding } from '../cluster/harness/binaries.ts';
import { eventually } from '../cluster/harness/processes.ts';
import { arm64Node } from './harness/arm64.ts';
import { removeCgroup } from './harness/cgroups.ts';
import { run, stopCommands } from './harness/commands.ts';
import { ENV, ROOT } from './harness/folders.ts';
import { buildImage, exportImage, IMAGE, PAUSE_IMAGE } from './harness/images.ts';
import { installPackages, missingAbility, NAMESPACES, systemPath } from './harness/requirements.ts';

const CLEANUP_LIMIT_MS = 30_000;
const SIGNALS = ['SIGINT', 'SIGTERM', 'SIGHUP'] as const;
const progress = (message: string): void => void process.stderr.write(`${message}\n`);

/** Ends the current step at a signal. Its files and processes are then removed. */
let end = (): void => {
  stopBuilding();
  stopCommands();
};
for (const signal of SIGNALS) process.on(signal, () => end());

process.env.PATH = systemPath();
const skipped = await missingAbility();
process.exitCode = skipped === undefined ? await runInNamespaces() : await runSkipped(skipped);

/** Reports every test as skipped. */
async function runSkipped(reason: string): Promise<number> {
  progress(`skipping the kubelet suite: ${reason}`);
  return exitCode(
    spawn(process.execPath, jest(), { stdio: 'inherit', env: { ...process.env, [ENV.skipped]: reason } }),
  );
}

async function runInNamespaces(): Promise<number> {
  await installPackages(progress);
  await binaries(progress);
  await kubeletProgram(progress);
  await arm64Node(progress);
  await buildImage(progress, (await run('git', ['rev-parse', 'HEAD'], { cwd: ROOT }).catch(() => '')).trim());

  const work = await mkdtemp(join(tmpdir(), 'karpenter-kubelet-'));
  const cgroup = basename(work);
  try {
    await mkdir(join(work, 'images'));
    await exportImage(IMAGE, join(work, 'images/karpenter-ts.tar'), IMAGE);
    await exportImage(PAUSE_IMAGE, join(work, 'images/pause.tar'), PAUSE_IMAGE);
    const inside = join(import.meta.dirname, 'inside.ts');
    // The namespaces end also if this process is killed.
    const argv = ['--pdeathsig', 'KILL', 'unshare', ...NAMESPACES, process.execPath, inside, ...jest()];
    const env = { ...process.env, TMPDIR: work, [ENV.work]: work, [ENV.cgroup]: cgroup };
    const child = spawn('setpriv', argv, { cwd: ROOT, stdio: 'inherit', env });
    end = () => child.kill('SIGKILL');
    return await exitCode(child);
  } finally {
    // Processes in uninterruptible sleep end some time after the kill.
    await eventually(
      'empty cgroups',
      () => {
        removeCgroup(cgroup);
        return true;
      },
      CLEANUP_LIMIT_MS,
    );
    await rm(work, { recursive: true, force: true });
  }
}

function jest(): readonly string[] {
  return [join(ROOT, 'node_modules/jest/bin/jest.js'), '--selectProjects', 'kubelet', ...process.argv.slice(2)];
}

async function exitCode(child: ChildProcess): Promise<number> {
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}
