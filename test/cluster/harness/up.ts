/** `npm run cluster:up`: a real control plane for work by hand, which stays until `npm run cluster:down`. */
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
  // Connections to it would keep this process.
  process.exit(0);
} catch (error) {
  say(error instanceof Error ? error.message : String(error));
  process.exitCode = 1;
}
