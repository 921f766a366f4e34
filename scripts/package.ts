/**
 * Assembles the npm package in package/: the bundles of `npm run build`, manifests and charts. Its manifest is generated
 * without dependencies, because everything is bundled.
 */
import { cpSync, mkdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

const FOLDER = 'package';
const CONTENTS = ['bin', 'dist', 'crds', 'charts', 'examples', 'README.md', 'LICENSE'];

const manifest = JSON.parse(readFileSync('package.json', 'utf8')) as Record<string, unknown>;
for (const field of ['scripts', 'dependencies', 'devDependencies', 'overrides']) delete manifest[field];

rmSync(FOLDER, { recursive: true, force: true });
mkdirSync(FOLDER);
for (const name of CONTENTS)
  cpSync(name, join(FOLDER, name), { recursive: true, filter: (source) => !source.endsWith('.map') });
writeFileSync(join(FOLDER, 'package.json'), `${JSON.stringify(manifest, null, 2)}\n`);
