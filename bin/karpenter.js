#!/usr/bin/env node
// Runs the sources in a checkout, and the bundle in a package.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

/**
 * Environment variable of the process that this file starts, with the path of its Node.js. A process with this variable
 * starts no further process.
 */
const STARTED = 'KARPENTER_STARTED_NODE';

/** @param {string} path */
const inPackage = (path) => new URL(`../${path}`, import.meta.url);

/** @param {string} version */
function isOld(version) {
  const [major = 0, minor = 0] = version.split('.').map(Number);
  return major < 22 || (major === 22 && minor < 19);
}

/**
 * Returns the Node.js of the npm package `node`. A checkout installs it, and `npm install node@24` adds it beside the
 * package.
 */
function installedNode() {
  try {
    const require = module.createRequire(import.meta.url);
    const folder = dirname(require.resolve('node/package.json'));
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(path) ? { path, version: require('node/package.json').version } : undefined;
  } catch {
    return undefined;
  }
}

/**
 * Runs this file again with another Node.js. Forwards signals and returns the exit code. The terminal itself sends
 * Ctrl-C to both processes.
 * @param {string} node
 */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], {
    stdio: 'inherit',
    env: { ...process.env, [STARTED]: node },
  });
  process.on('SIGINT', () => {});
  for (const signal of /** @type {const} */ (['SIGTERM', 'SIGHUP'])) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => fail(`karpenter cannot run ${node}: ${error.message}`));
  child.on('exit', (code, signal) => process.exit(code ?? 128 + (signal === null ? 0 : constants.signals[signal])));
}

async function run() {
  // A bundle in a checkout can be older than its sources.
  const isCheckout = existsSync(inPackage('src/cli.ts'));
  // Otherwise a command in a checkout would spend two fifths of its time on stripping types.
  if (isCheckout) module.enableCompileCache(fileURLToPath(inPackage('node_modules/.cache/compiled')));
  const { main } = await import(inPackage(isCheckout ? 'src/cli.ts' : 'dist/cli/cli.js').href);
  await main();
}

/** @param {string} text */
function fail(text) {
  process.stderr.write(`${text}\n`);
  process.exit(1);
}

const started = process.env[STARTED];
// programs that the command line starts select their own Node.js
delete process.env[STARTED];
const { node: version } = process.versions;
const needs = `karpenter needs Node.js 22.19 or newer, this is ${version}`;
const remedy = 'run "npm install node@24" where karpenter is installed, and it will use that';

if (!isOld(version)) await run();
else if (started !== undefined) fail(`karpenter needs Node.js 22.19 or newer, ${started} is ${version}: ${remedy}`);
else {
  const installed = installedNode();
  if (installed === undefined) fail(`${needs}: ${remedy}`);
  else if (isOld(installed.version)) fail(`${needs}, and ${installed.path} is ${installed.version}: ${remedy}`);
  else runWith(installed.path);
}
