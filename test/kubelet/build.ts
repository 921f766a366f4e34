/**
 * Builds the executables of the cluster suite and of the kubelet suite, and the image, so that no test waits for them.
 * `--in-idle-time` uses idle CPU time only, and exits with its parent process.
 */
import { setPriority } from 'node:os';
import { binaries, kubeletProgram, stopBuilding } from '../cluster/harness/binaries.ts';
import { prometheusBinaries } from '../cluster/harness/prometheus.ts';
import { arm64Node } from './harness/arm64.ts';
import { stopCommands } from './harness/commands.ts';
import { buildImage } from './harness/images.ts';
import { installPackages, missingAbility, systemPath } from './harness/requirements.ts';

const LOWEST = 19;

if (process.argv.includes('--in-idle-time')) {
  setPriority(LOWEST);
  process.once('disconnect', () => {
    stopBuilding();
    stopCommands();
  });
  // A listener on the channel would keep the process alive.
  process.channel?.unref();
}

process.env.PATH = systemPath();
try {
  const progress = (message: string): void => void process.stderr.write(`${message}\n`);
  const runsKubelets = (await missingAbility()) === undefined;
  // First, because another suite may install packages later.
  if (runsKubelets) await installPackages(progress);
  await binaries(progress);
  await prometheusBinaries(progress);
  if (runsKubelets) {
    await kubeletProgram(progress);
    await arm64Node(progress);
    await buildImage(progress);
  }
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
