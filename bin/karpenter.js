#!/usr/bin/env node
// The bundle when it has been built, else the sources, which Node runs as they are.
import { existsSync } from 'node:fs';

const bundle = new URL('../dist/cli.js', import.meta.url);
await import(existsSync(bundle) ? bundle.href : new URL('../src/cli.ts', import.meta.url).href);
