#!/usr/bin/env node
// In a checkout the sources, which Node runs as they are; in a package the bundle.
import { spawn } from 'node:child_process';
import { existsSync } from 'node:fs';
import module from 'node:module';
import { constants } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';

const inPackage = (path) => new URL(`../${path}`, import.meta.url);

function isOldNode() {
  const [major, minor] = process.versions.node.split('.').map(Number);
  return major < 22 || (major === 22 && minor < 19);
}

/** The Node.js of the npm package `node`: a checkout installs it, and `npm install node@24` does beside the package. */
function installedNode() {
  try {
    const folder = dirname(module.createRequire(import.meta.url).resolve('node/package.json'));
    const path = join(folder, 'bin', process.platform === 'win32' ? 'node.exe' : 'node');
    return existsSync(path) ? path : undefined;
  } catch {
    return undefined;
  }
}

/** Runs this file again with another Node.js; the exit code and signals pass through, Ctrl-C by the terminal itself. */
function runWith(node) {
  const child = spawn(node, [fileURLToPath(import.meta.url), ...process.argv.slice(2)], { stdio: 'inherit' });
  process.on('SIGINT', () => {});
  for (const signal of ['SIGTERM', 'SIGHUP']) process.on(signal, () => child.kill(signal));
  child.on('error', (error) => {
    process.stderr.write(`karpenter cannot run ${node}: ${error.message}\n`);
    process.exit(1);
  });
  child.on('exit', (code, signal) => process.exit(code ?? 128 + constants.signals[signal]));
}

async function run() {
  // A checkout that was built keeps its bundle when its sources change.
  const isCheckout = existsSync(inPackage('src/cli.ts'));
  // Else two fifths of a command's time in a checkout would go into taking the types away again.
  if (isCheckout) module.enableCompileCache(fileURLToPath(inPackage('node_modules/.cache/compiled')));
  const { main } = await import(inPackage(isCheckout ? 'src/cli.ts' : 'dist/cli/cli.js').href);
  await main();
}

const newer = isOldNode() ? installedNode() : undefined;
if (!isOldNode()) await run();
else if (newer !== undefined) runWith(newer);
else {
  process.stderr.write(
    `karpenter needs Node.js 22.19 or newer, this is ${process.versions.node}: run "npm install node@24" where karpenter is installed, and it will use that\n`,
  );
  process.exitCode = 1;
}
