/**
 * Builds the executables of the cluster suite and of the kubelet suite, and the image, so that no test waits for them.
 * `--beside` leaves most of the CPU time to suites that run meanwhile, and exits with its parent process.
 */
import { setPriority } from 'node:os';
import { binaries, kubeletProgram, stopBuilding } from '../cluster/harness/binaries.ts';
import { prometheusBinaries } from '../cluster/harness/prometheus.ts';
import { arm64Node } from './harness/arm64.ts';
import { stopCommands } from './harness/commands.ts';
import { buildImage } from './harness/images.ts';
import { installPackages, missingAbility, systemPath } from './harness/requirements.ts';

/** The suites use all CPU time, so a lower priority would only let the suites that need the programs wait. */
const LOW_PRIORITY = 5;

if (process.argv.includes('--beside')) {
  setPriority(LOW_PRIORITY);
  process.once('disconnect', () => {
    stopBuilding();
    stopCommands();
  });
  // A listener on the channel would keep the process alive.
  process.channel?.unref();
}

const progress = (message: string): void => void process.stderr.write(`${message}\n`);

async function buildPrograms(): Promise<void> {
  await binaries(progress);
  await prometheusBinaries(progress);
  // a parent process may wait for this message, or for the end of this process
  process.send?.('programs');
}

async function buildForKubelets(): Promise<void> {
  // First, because another suite may install packages later.
  await installPackages(progress);
  await arm64Node(progress);
  await buildImage(progress);
}

process.env.PATH = systemPath();
try {
  const runsKubelets = (await missingAbility()) === undefined;
  const programs = buildPrograms();
  // The image waits for downloads.
  await Promise.all([
    programs,
    ...(runsKubelets ? [buildForKubelets(), programs.then(() => kubeletProgram(progress))] : []),
  ]);
} catch (error) {
  process.stderr.write(`${error instanceof Error ? error.message : String(error)}\n`);
  process.exitCode = 1;
}
