/**
 * `npm run test:moto`: installs moto once into the cache of the cluster suite, starts it on a free port of 127.0.0.1 with
 * its stricter switches, runs the contract suite on it, and stops it.
 */
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { delimiter, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { pythonPackage } from '../cluster/harness/python-package.ts';
import { freePort } from '../support/free-port.ts';

const MOTO = { tool: 'moto', name: 'moto[server]', version: '5.2.5' };
const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const START_MS = 60_000;

async function run(command: string, args: readonly string[], env = process.env): Promise<number> {
  const child = spawn(command, args, { cwd: ROOT, stdio: 'inherit', env });
  const [code] = (await once(child, 'exit')) as [number | null];
  return code ?? 1;
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

const moto = await pythonPackage(MOTO, (line) => void process.stderr.write(`${line}\n`));
const port = await freePort();
const url = `http://127.0.0.1:${port}`;
const server = spawn(join(moto, 'bin/moto_server'), ['-H', '127.0.0.1', '-p', String(port)], {
  stdio: 'ignore',
  env: {
    ...process.env,
    PYTHONPATH: [moto, process.env.PYTHONPATH].filter(Boolean).join(delimiter),
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
