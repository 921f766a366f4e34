/** `npm run test:browser`: tests the pages in a real browser, which it installs on Debian if there is none. */
import { spawnSync } from 'node:child_process';
import { existsSync } from 'node:fs';
import { chromiumPath } from './chromium.ts';

const run = (command: string, ...args: readonly string[]): number =>
  spawnSync(command, args, { stdio: 'inherit', env: { ...process.env, DEBIAN_FRONTEND: 'noninteractive' } }).status ??
  1;

if (chromiumPath() === undefined && process.getuid?.() === 0 && existsSync('/usr/bin/apt-get')) {
  process.stderr.write('installing chromium\n');
  run('apt-get', 'update', '-qq');
  run('apt-get', 'install', '-y', '-qq', '--no-install-recommends', 'chromium');
}
process.exitCode = run('node_modules/.bin/jest', '--selectProjects', 'browser', ...process.argv.slice(2));
