/** The five commands of docs/dra.md, from a claim template to a running pod in the local cluster, with the real kubectl. */
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtemp, readFile, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { afterAll, beforeAll, expect, it } from '@jest/globals';
import { eventually } from './harness/processes.ts';
import { type Shell, startShell } from './harness/shell.ts';

const ROOT = resolve(import.meta.dirname, '../..');
const LIMIT_MS = 180_000;
/** Each poll starts kubectl. */
const POLL_MS = 1_000;

/** Command that runs until it is stopped, with its output. */
interface Running {
  readonly process: ChildProcess;
  output(): string;
}

let folder: string;
let commands: readonly string[];
const running: Running[] = [];

beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'karpenter-dra-'));
  const page = await readFile(join(ROOT, 'docs/dra.md'), 'utf8');
  const section = page.split('\n## Try it on a laptop\n')[1] ?? '';
  commands = (/```sh\n(.*?)\n```/s.exec(section)?.[1] ?? '').split('\n');
});
afterAll(async () => {
  for (const { process: child } of running.toReversed()) {
    if (child.exitCode !== null || child.pid === undefined) continue;
    const ended = new Promise((end) => child.once('exit', end));
    process.kill(-child.pid, 'SIGINT');
    await ended;
  }
  await rm(folder, { recursive: true, force: true });
}, 60_000);

/** Starts a command in its own process group, like a terminal. */
function start(command: string, env: Readonly<Record<string, string>>): Running {
  let output = '';
  const child = spawn('bash', ['-c', command], { cwd: ROOT, env: { ...process.env, ...env }, detached: true });
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (chunk: Buffer) => {
      output += chunk.toString();
    });
  const one = { process: child, output: () => output };
  running.push(one);
  return one;
}

it('leads from a claim template to a running pod', async () => {
  const [local = '', operator = '', ...kubectl] = commands;
  expect([local, kubectl.length]).toEqual(['npx karpenter local', 3]);
  // the reader's commands, with fast machines, and without files in the checkout
  const world = start(`${local} --machine-speed 20 --kubeconfig ${join(folder, 'kubeconfig')}`, {});
  await eventually('the local cluster', () => world.output().includes('Press Ctrl-C') || undefined, LIMIT_MS);
  const lines = [...world.output().matchAll(/^export (\w+)=(.*)$/gm)].map(([, name = '', value = '']) => [name, value]);
  const exports = Object.fromEntries(lines.map(([name, value = '']) => [name, value.replace(/^'(.*)'$/, '$1')]));
  start(operator, { ...exports, METRICS_PORT: '0', HEALTH_PROBE_PORT: '0' });
  const shell: Shell = await startShell(folder, exports.KUBECONFIG ?? '', exports);
  const [drivers = '', workload = '', show = ''] = kubectl;
  expect(await shell(drivers)).toContain('deviceclass.resource.k8s.io/gpu.nvidia.com created');
  expect(await shell(workload)).toContain('resourceclaimtemplate.resource.k8s.io/one-gpu created');
  let shown = '';
  await eventually(
    'a running pod',
    async () => {
      shown = await shell(show);
      return /^pod\/inference-\S+ +1\/1 +Running/m.test(shown) || undefined;
    },
    LIMIT_MS,
    POLL_MS,
  );
  expect(shown).toMatch(/^resourceclaim\S+\/inference-\S+ +allocated,reserved/m);
  expect(shown).toMatch(/^resourceslice\S+\/\S+ +\S+ +gpu\.nvidia\.com/m);
  expect(shown).toMatch(/^nodeclaim\S+\/gpu-\S+ +g\d/m);
}, 600_000);
