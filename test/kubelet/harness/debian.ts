/** Packages of Debian without an installation, on any machine with apt. */
import { existsSync } from 'node:fs';
import { mkdir, readdir, readFile, writeFile } from 'node:fs/promises';
import { join } from 'node:path';
import { run } from './commands.ts';

export const DEBIAN = 'bookworm';
export const KEYRING = '/usr/share/keyrings/debian-archive-keyring.gpg';
const SOURCES = '/etc/apt/sources.list.d/debian.sources';

/** Returns the mirror that this machine uses. */
export async function debianMirror(): Promise<string> {
  const text = existsSync(SOURCES) ? await readFile(SOURCES, 'utf8') : '';
  return /^URIs: (\S+)/m.exec(text)?.[1] ?? 'http://deb.debian.org/debian';
}

/** Downloads packages and unpacks them into `root`. */
export async function unpackPackages(
  root: string,
  {
    work,
    architecture,
    names,
  }: { readonly work: string; readonly architecture: string; readonly names: readonly string[] },
): Promise<void> {
  const archives = join(work, 'archives');
  for (const path of ['lists/partial', 'archives/partial']) await mkdir(join(work, path), { recursive: true });
  await writeFile(join(work, 'sources.list'), `deb [signed-by=${KEYRING}] ${await debianMirror()} ${DEBIAN} main\n`);
  // Separate lists, so that the machine does not get another distribution or architecture.
  const settings = {
    'APT::Architecture': architecture,
    'APT::Architectures': architecture,
    'APT::Sandbox::User': 'root',
    'Dir::State': work,
    'Dir::State::status': '/dev/null',
    'Dir::Cache': work,
    'Dir::Etc::sourcelist': join(work, 'sources.list'),
    'Dir::Etc::sourceparts': '-',
  };
  const options = Object.entries(settings).flatMap(([name, value]) => ['-o', `${name}=${value}`]);
  await run('apt-get', [...options, 'update', '-qq']);
  await run('apt-get', [...options, 'download', '-qq', ...names], { cwd: archives });
  for (const name of (await readdir(archives)).filter((one) => one.endsWith('.deb')))
    await run('dpkg-deb', ['-x', join(archives, name), root]);
}
