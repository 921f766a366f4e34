/**
 * Control plane with the charts that all test files of a process share. It ends with the process. Tests that stop its
 * components, need other flags or leave other objects than `sweep` deletes start their own control plane.
 */
import { rmSync } from 'node:fs';
import { sweep } from '../scenarios/sweep.ts';
import type { ControlPlane } from './controlplane.ts';
import { type Installation, installCharts, startInstallation, type Values } from './installation.ts';
import type { Process } from './processes.ts';

/** Longer than the run time of all test files. */
const TOKEN_SECONDS = 7_200;

let shared: Promise<Installation> | undefined;
/** Values of the installed chart as JSON. */
let installed: string | undefined;

/** Returns the control plane with these values of the main chart. The operators of a test run outside the cluster. */
export async function shareInstallation(values: Values): Promise<Installation> {
  shared ??= startInstallation();
  try {
    const installation = await shared;
    const wanted = JSON.stringify(values);
    // Pods of the chart would keep `sweep` from finishing.
    const own = { ...values, replicas: 0 };
    if (installed === undefined) {
      await installCharts(installation, own);
      endWithThisProcess(installation.plane);
    } else if (installed !== wanted) await installation.install('karpenter', own, '--skip-crds');
    installed = wanted;
    await installation.renewToken(TOKEN_SECONDS);
    return installation;
  } catch (error) {
    await abandon();
    throw error;
  }
}

/** Deletes the objects of the test. If that fails, the next test gets another control plane. */
export async function leaveInstallation(installation: Installation): Promise<void> {
  try {
    await sweep(installation);
  } catch (error) {
    await abandon();
    throw error;
  }
}

async function abandon(): Promise<void> {
  const before = shared;
  shared = undefined;
  installed = undefined;
  // A control plane that did not start has no processes.
  await before?.then(
    ({ plane }) => plane.stop(),
    () => undefined,
  );
}

function endWithThisProcess({ processes, folder }: ControlPlane): void {
  const running: readonly Process[] = Object.values(processes);
  for (const one of running) one.unref();
  process.once('exit', () => {
    for (const one of running) one.signal('SIGKILL');
    rmSync(folder, { recursive: true, force: true });
  });
}
