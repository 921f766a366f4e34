/** `npm run cluster:up`: starts a real control plane for manual use, which runs until `npm run cluster:down`. */
import { dirname } from 'node:path';
import { binaries } from './binaries.ts';
import { startControlPlane } from './controlplane.ts';
import { end, isRunning, keep, kept } from './kept.ts';

const say = (message: string): void => void process.stderr.write(`${message}\n`);

try {
  const before = await kept();
  if (before && !(await isRunning(before))) await end(before);
  const one =
    before && (await isRunning(before))
      ? before
      : await keep(await startControlPlane({ detached: true, progress: say }));
  const { kubectl, helm } = await binaries();
  say(`kube-apiserver at ${one.url}, logs in ${one.folder}; end it with: npm run cluster:down`);
  process.stdout.write(`export KUBECONFIG=${one.kubeconfig}\n`);
  process.stdout.write(`export PATH=${dirname(kubectl)}:${dirname(helm)}:$PATH\n`);
  // Open connections would keep this process alive.
  process.exit(0);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
