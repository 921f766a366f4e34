/** Requirements of the suite: abilities of the kernel, and Debian packages, which are installed. */
import { existsSync } from 'node:fs';
import { delimiter, join } from 'node:path';
import { run } from './commands.ts';

/** Debian packages by one of their files. Names without a slash are looked up in the PATH. */
const PACKAGES: Readonly<Record<string, string>> = {
  buildah: 'buildah',
  conntrack: 'conntrack',
  containerd: 'containerd',
  debootstrap: 'debootstrap',
  ethtool: 'ethtool',
  ip: 'iproute2',
  iptables: 'iptables',
  'qemu-aarch64-static': 'qemu-user-static',
  runc: 'runc',
  socat: 'socat',
  '/usr/lib/cni/bridge': 'containernetworking-plugins',
  '/usr/share/keyrings/debian-archive-keyring.gpg': 'debian-archive-keyring',
};

const SYSTEM_PATH = ['/usr/local/sbin', '/usr/local/bin', '/usr/sbin', '/usr/bin', '/sbin', '/bin'];
const LOCK_LIMIT_S = 600;

const exists = (file: string): boolean =>
  file.includes('/') ? existsSync(file) : SYSTEM_PATH.some((folder) => existsSync(join(folder, file)));

/** Returns the reason for which this machine cannot run kubelets, or undefined. */
export async function missingAbility(): Promise<string | undefined> {
  if (process.platform !== 'linux') return `kubelets need Linux, and this is ${process.platform}`;
  if (process.getuid?.() !== 0) return 'kubelets need root';
  try {
    await run('unshare', [...NAMESPACES, 'true']);
    return undefined;
  } catch (error) {
    return `the kernel denies new namespaces: ${(error as Error).message}`;
  }
}

/** Namespaces of a run. All of its processes, mounts and networks end with its first process. */
export const NAMESPACES: readonly string[] = [
  '--mount',
  '--net',
  '--pid',
  '--fork',
  '--kill-child',
  '--mount-proc',
  '--propagation=private',
];

/** Installs missing Debian packages. @throws Error with the missing commands if apt-get does not exist */
export async function installPackages(progress: (message: string) => void): Promise<void> {
  const missing = Object.keys(PACKAGES).filter((file) => !exists(file));
  if (missing.length === 0) return;
  const packages = missing.map((file) => PACKAGES[file] ?? file);
  if (!exists('apt-get'))
    throw new Error(`The kubelet suite needs ${missing.join(', ')}: install the packages that contain them`);
  progress(`installing ${packages.join(', ')}`);
  const env = { ...process.env, DEBIAN_FRONTEND: 'noninteractive' };
  const options = ['-qq', '-o', `DPkg::Lock::Timeout=${LOCK_LIMIT_S}`];
  await run('apt-get', ['update', ...options], { env });
  await run('apt-get', ['install', '--yes', '--no-install-recommends', ...options, ...packages], { env });
}

/** PATH with the folders of system commands, which the PATH of a user may not contain. */
export const systemPath = (): string => [process.env.PATH, ...SYSTEM_PATH].filter(Boolean).join(delimiter);
