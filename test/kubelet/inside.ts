/**
 * First process in the namespaces of a run: hides folders and kernel settings of the machine that containerd and the
 * kubelet would change, and runs a command.
 */
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync } from 'node:fs';
import { mkdir, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './harness/commands.ts';
import { ENV } from './harness/folders.ts';

/** Folders with fixed names. */
const HIDDEN = ['/run', '/var/lib/cni', '/var/log/containers', '/var/lib/kubelet'];
/** Values that a kubelet requires. It would change the settings of the machine, and nothing would restore them. */
const KERNEL_SETTINGS: Readonly<Record<string, string>> = {
  'vm/overcommit_memory': '1',
  'vm/panic_on_oom': '0',
  'kernel/panic': '10',
  'kernel/panic_on_oops': '1',
  'kernel/keys/root_maxkeys': '1000000',
  'kernel/keys/root_maxbytes': '25000000',
};

for (const folder of HIDDEN) {
  await mkdir(folder, { recursive: true });
  await run('mount', ['-t', 'tmpfs', 'tmpfs', folder]);
}
for (const [name, value] of Object.entries(KERNEL_SETTINGS)) {
  if (!existsSync(join('/proc/sys', name))) continue;
  const file = join(process.env[ENV.work] ?? '', name.replaceAll('/', '.'));
  await writeFile(file, `${value}\n`);
  await run('mount', ['--bind', file, join('/proc/sys', name)]);
}

const [command = '', ...argv] = [process.execPath, ...process.argv.slice(2)];
const [code] = (await once(spawn(command, argv, { stdio: 'inherit' }), 'exit')) as [number | null];
process.exit(code ?? 1);
