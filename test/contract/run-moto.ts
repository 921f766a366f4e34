/**
 * `npm run test:moto`: creates a virtual environment in `.venv`, starts moto on a free port of 127.0.0.1 with its
 * stricter switches, runs the contract suite on it, and stops it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { freePort } from '../support/free-port.ts';

const MOTO = 'moto[server]==5.2.5';
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const VENV = `${ROOT}.venv`;
const START_MS = 60_000;

async function run(command: string, args: readonly string[], env = process.env): Promise<number> {
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
}

async function must(command: string, args: readonly string[]): Promise<void> {
  const code = await run(command, args);
  if (code !== 0) throw new Error(`${command} ${args.join(' ')} ended with ${code}`);
}

/** @throws Error if the server exits, or does not respond in time */
async function answers(url: string, server: ChildProcess): Promise<void> {
  for (const started = Date.now(); Date.now() - started < START_MS; ) {
    if (server.exitCode !== null) throw new Error(`moto ended with ${server.exitCode}`);
    const answer = await fetch(`${url}/moto-api/data.json`).catch(() => undefined);
    if (answer?.ok) return;
    await new Promise((resolve) => setTimeout(resolve, 100));
  }
  throw new Error(`moto does not answer at ${url}`);
}

if (!existsSync(`${VENV}/bin/pip`)) await must('python3', ['-m', 'venv', VENV]);
await must(`${VENV}/bin/pip`, ['install', '--quiet', '--disable-pip-version-check', MOTO]);

const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const server = spawn(`${VENV}/bin/moto_server`, ['-H', '127.0.0.1', '-p', String(port)], {
  stdio: 'ignore',
  env: {
    ...process.env,
    MOTO_EC2_ENABLE_INSTANCE_TYPE_VALIDATION: '1',
    MOTO_ENABLE_AMI_VALIDATION: '1',
    MOTO_AMIS_PATH: fileURLToPath(new URL('images.json', import.meta.url)),
  },
});
try {
  await answers(url, server);
  process.exitCode = await run('node_modules/.bin/jest', ['--selectProjects', 'moto', ...process.argv.slice(2)], {
    ...process.env,
    MOTO_URL: url,
  });
} finally {
  server.kill();
  if (server.exitCode === null && server.signalCode === null) await once(server, 'exit');
}
