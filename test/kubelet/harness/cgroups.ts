/** Cgroups of a run in every hierarchy, of version 1 or 2. */
import { existsSync, readdirSync, readFileSync, rmdirSync, writeFileSync } from 'node:fs';
import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';

const MOUNT = '/sys/fs/cgroup';
const isUnified = existsSync(join(MOUNT, 'cgroup.controllers'));

/** Folders in which every hierarchy starts. */
const hierarchies = (): readonly string[] =>
  isUnified
    ? [MOUNT]
    : readdirSync(MOUNT, { withFileTypes: true }).flatMap((entry) =>
        entry.isDirectory() ? join(MOUNT, entry.name) : [],
      );

/** Creates a cgroup with all controllers in every hierarchy. */
export async function createCgroup(path: string): Promise<void> {
  for (const hierarchy of hierarchies()) {
    let folder = hierarchy;
    for (const part of path.split('/')) {
      const parent = folder;
      if (isUnified) enableControllers(parent);
      folder = join(folder, part);
      await mkdir(folder, { recursive: true });
      // version 1 creates these files empty, and then accepts no processes
      for (const file of ['cpuset.cpus', 'cpuset.mems'])
        if (!isUnified && existsSync(join(folder, file)))
          writeFileSync(join(folder, file), readFileSync(join(parent, file)));
    }
  }
}

/** Passes every controller of a cgroup of version 2 on to its children. */
function enableControllers(folder: string): void {
  const controllers = readFileSync(join(folder, 'cgroup.controllers'), 'utf8').trim();
  const enabled = controllers.split(' ').map((name) => `+${name}`);
  writeFileSync(join(folder, 'cgroup.subtree_control'), controllers === '' ? '' : enabled.join(' '));
}

/** Removes a cgroup, which has no processes any more, with all cgroups in it. */
export function removeCgroup(path: string): void {
  for (const hierarchy of hierarchies()) removeTree(join(hierarchy, path));
}

function removeTree(folder: string): void {
  if (!existsSync(folder)) return;
  for (const entry of readdirSync(folder, { withFileTypes: true }))
    if (entry.isDirectory()) removeTree(join(folder, entry.name));
  rmdirSync(folder);
}
