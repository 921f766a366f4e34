#!/usr/bin/env node
// The bundle when it has been built, else the sources, which Node runs as they are.
import { existsSync } from 'node:fs';

const [major, minor] = process.versions.node.split('.').map(Number);
if (major < 22 || (major === 22 && minor < 19)) {
  process.stderr.write(
    `karpenter needs Node.js 22.19 or newer, this is ${process.versions.node}; npx karpenter in the checkout has its own\n`,
  );
  process.exit(1);
}

const bundle = new URL('../dist/cli.js', import.meta.url);
await import(existsSync(bundle) ? bundle.href : new URL('../src/cli.ts', import.meta.url).href);
