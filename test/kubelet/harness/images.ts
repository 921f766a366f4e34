/**
 * Builds the image of the Dockerfile without a registry. Local images replace its two base images: a minimal Debian with
 * Node.js and npm, and a file system without a shell that has the packages and users of the distroless image.
 */
import { existsSync } from 'node:fs';
import { chmod, cp, mkdir, mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { homedir, tmpdir } from 'node:os';
import { join } from 'node:path';
import { built } from '../../cluster/harness/binaries.ts';
import { run } from './commands.ts';
import { DEBIAN, debianMirror, KEYRING, unpackPackages } from './debian.ts';
import { imageCache, ROOT } from './folders.ts';

export type Progress = (message: string) => void;

/** Image with this name in the storage of the builder. */
export const IMAGE = 'localhost/karpenter-ts:built';
export const PAUSE_IMAGE = 'localhost/pause:local';

/** Raise it when the base images change. */
const RECIPE = 1;
/** Packages of the distroless image for Node.js. */
const RUNTIME_PACKAGES =
  'libc6 libgcc-s1 libstdc++6 libgomp1 gcc-12-base libssl3 base-files netbase tzdata media-types ca-certificates'.split(
    ' ',
  );
/** Parts of packages that the distroless image does not contain. */
const NOT_AT_RUNTIME =
  'usr/share/doc usr/share/man usr/share/lintian usr/share/bug usr/share/common-licenses etc/update-motd.d bin sbin usr/sbin usr/bin usr/local usr/games usr/src'.split(
    ' ',
  );
const SYSTEM_PATH = 'PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin';
const CERTIFICATES = '/etc/ssl/certs/ca-certificates.crt';
/** Maximum number of images in the storage, including layers. If it is exceeded, all except the tagged images are removed. */
const MOST_IMAGES = 60;

/** Runs buildah with the storage of the suite. */
export function buildah(...argv: readonly string[]): Promise<string> {
  const storage = ['--root', join(imageCache(), 'storage'), '--runroot', join(tmpdir(), 'karpenter-kubelet-storage')];
  return run('buildah', [...storage, '--storage-driver', 'overlay', ...argv], {
    env: { ...process.env, BUILDAH_ISOLATION: 'chroot' },
  });
}

const isStored = (image: string): Promise<boolean> =>
  buildah('inspect', '--type', 'image', image).then(
    () => true,
    () => false,
  );

/** Builds the image from the Dockerfile. Layers of earlier builds are reused. */
export async function buildImage(progress: Progress, revision = ''): Promise<void> {
  await mkdir(imageCache(), { recursive: true });
  const images = (await buildah('images', '--all', '--quiet')).split('\n').length;
  if (images > MOST_IMAGES) await buildah('rmi', '--prune', '--force');
  const bases = await baseImages(progress);
  await pauseImage(progress);
  progress('building the image');
  const npmrc = join(await mkdtemp(join(tmpdir(), 'karpenter-npmrc-')), 'npmrc');
  try {
    await writeFile(npmrc, await npmSettings(), { mode: 0o600 });
    await buildah(
      'build',
      '--layers',
      ...[
        '--network',
        'host',
        '--volume',
        `${npmrc}:/root/.npmrc:ro`,
        '--volume',
        `${CERTIFICATES}:${CERTIFICATES}:ro`,
      ],
      ...['--build-arg', `BUILD_IMAGE=${bases.build}`, '--build-arg', `RUNTIME_IMAGE=${bases.runtime}`],
      ...['--build-arg', `SOURCE_REVISION=${revision}`, '--tag', IMAGE, ROOT],
    );
  } finally {
    await rm(join(npmrc, '..'), { recursive: true });
  }
}

/** Writes an image of the storage as a Docker archive with another name. */
export const exportImage = async (image: string, file: string, name: string): Promise<void> =>
  void (await buildah('push', '--quiet', image, `docker-archive:${file}:${name}`));

/** Settings of this machine's npm, which the public base image does not need. */
async function npmSettings(): Promise<string> {
  const file = join(homedir(), '.npmrc');
  const own = existsSync(file) ? await readFile(file, 'utf8') : '';
  return `${own}\nregistry=${(await run('npm', ['config', 'get', 'registry'], { cwd: tmpdir() })).trim()}\n`;
}

interface Bases {
  readonly build: string;
  readonly runtime: string;
}

async function baseImages(progress: Progress): Promise<Bases> {
  const node = join(ROOT, 'node_modules/node/bin/node');
  const version = (await run(node, ['--version'])).trim();
  const tag = `${version}-${RECIPE}`;
  const bases = { build: `localhost/build-base:${tag}`, runtime: `localhost/runtime-base:${tag}` };
  if (!(await isStored(bases.build))) {
    progress('making a base image with Node.js and npm');
    await inFolder((folder) => buildBase(folder, node, bases.build));
  }
  if (!(await isStored(bases.runtime))) {
    progress('making a base image without a shell');
    await inFolder((folder) => runtimeBase(folder, node, bases.runtime));
  }
  return bases;
}

async function inFolder(make: (folder: string) => Promise<void>): Promise<void> {
  const folder = await mkdtemp(join(imageCache(), 'making-'));
  try {
    await make(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function buildBase(folder: string, node: string, image: string): Promise<void> {
  const root = join(folder, 'root');
  await run('debootstrap', ['--variant=minbase', `--keyring=${KEYRING}`, DEBIAN, root, await debianMirror()]);
  await rm(join(root, 'var/cache/apt/archives'), { recursive: true });
  await cp(node, join(root, 'usr/local/bin/node'));
  await run('npm', ['install', '--global', '--silent', '--prefix', join(root, 'usr/local'), 'npm@11'], { cwd: folder });
  await mkdir(join(root, 'etc/ssl/certs'), { recursive: true });
  await commit(root, image, ['--env', SYSTEM_PATH, '--env', `NODE_EXTRA_CA_CERTS=${CERTIFICATES}`, '--cmd', 'node']);
}

async function runtimeBase(folder: string, node: string, image: string): Promise<void> {
  const root = join(folder, 'root');
  await unpackRuntime(folder, root);
  await addUsers(root);
  await mkdir(join(root, 'nodejs/bin'), { recursive: true });
  await cp(node, join(root, 'nodejs/bin/node'));
  const config = ['--user', '65532', '--workingdir', '/home/nonroot', '--entrypoint', '["/nodejs/bin/node"]'];
  await commit(root, image, ['--env', SYSTEM_PATH, '--env', `SSL_CERT_FILE=${CERTIFICATES}`, ...config]);
}

/** Unpacks the packages of the runtime without their programs. */
async function unpackRuntime(work: string, root: string): Promise<void> {
  const architecture = process.arch === 'arm64' ? 'arm64' : 'amd64';
  await mkdir(root);
  await unpackPackages(root, { work, architecture, names: RUNTIME_PACKAGES });
  await mkdir(join(root, 'etc/ssl/certs'), { recursive: true });
  const certificates = (await readdir(join(root, 'usr/share/ca-certificates/mozilla'))).sort();
  const texts = certificates.map((name) => readFile(join(root, 'usr/share/ca-certificates/mozilla', name), 'utf8'));
  await writeFile(join(root, CERTIFICATES), (await Promise.all(texts)).join('\n'));
  for (const path of [...NOT_AT_RUNTIME, 'usr/share/ca-certificates'])
    await rm(join(root, path), { recursive: true, force: true });
}

async function addUsers(root: string): Promise<void> {
  const users = [
    'root:x:0:0:root:/root:/sbin/nologin',
    'nobody:x:65534:65534:nobody:/nonexistent:/sbin/nologin',
    'nonroot:x:65532:65532:nonroot:/home/nonroot:/sbin/nologin',
  ];
  const groups = ['root:x:0:', 'nobody:x:65534:', 'tty:x:5:', 'staff:x:50:', 'nonroot:x:65532:'];
  await writeFile(join(root, 'etc/passwd'), `${users.join('\n')}\n`);
  await writeFile(join(root, 'etc/group'), `${groups.join('\n')}\n`);
  await writeFile(join(root, 'etc/nsswitch.conf'), 'hosts: files dns\n');
  for (const path of ['root', 'tmp', 'proc', 'sys', 'dev', 'run', 'home/nonroot'])
    await mkdir(join(root, path), { recursive: true });
  await chmod(join(root, 'tmp'), 0o1777);
  await chmod(join(root, 'home/nonroot'), 0o700);
  await run('chown', ['65532:65532', join(root, 'home/nonroot')]);
}

/** Image of the sandbox of pods. */
async function pauseImage(progress: Progress): Promise<void> {
  if (await isStored(PAUSE_IMAGE)) return;
  const source = join(import.meta.dirname, '../pause');
  const folder = await built(
    { tool: 'pause', version: '1' },
    async (work) => {
      const env = { ...process.env, CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false' };
      await run('go', ['build', '-trimpath', '-ldflags', '-s -w', '-o', join(work, 'bin/pause'), '.'], {
        cwd: source,
        env,
      });
    },
    progress,
  );
  await commit(folder, PAUSE_IMAGE, ['--entrypoint', '["/pause"]', '--user', '65535']);
}

/** Creates an image with these files. */
async function commit(root: string, image: string, config: readonly string[]): Promise<void> {
  const container = (await buildah('from', 'scratch')).trim();
  // An archive keeps the owners of files; a folder would be copied with root as the owner.
  await inFolder(async (folder) => {
    const archive = join(folder, 'files.tar');
    await run('tar', ['-C', root, '--numeric-owner', '-cf', archive, '.']);
    await buildah('add', '--quiet', container, archive, '/');
    await buildah('config', ...config, container);
    await buildah('commit', '--quiet', container, image);
  }).finally(() => buildah('rm', container));
}
