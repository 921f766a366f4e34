#!/usr/bin/env node
// The bundle when it has been built, else the sources, which Node runs as they are.
import { existsSync } from 'node:fs';
import module from 'node:module';
import { fileURLToPath } from 'node:url';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `karpenter needs Node.js 22.19 or newer, this is ${process.versions.node}; npx karpenter in the checkout has its own\n`,
  );
  process.exit(1);
}

const inPackage = (path) => new URL(`../${path}`, import.meta.url);
const isBuilt = existsSync(inPackage('dist/cli.js'));
// Else two fifths of a command's time in a checkout would go into taking the types away again.
if (!isBuilt) module.enableCompileCache(fileURLToPath(inPackage('node_modules/.cache/compiled')));
await import(inPackage(isBuilt ? 'dist/cli.js' : 'src/cli.ts').href);
