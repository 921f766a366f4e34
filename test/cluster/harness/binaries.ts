/**
 * Executables of a control plane and helm, built from their Go modules and cached outside the checkout, one folder per
 * version. The first build takes minutes.
 */
import { execFile } from 'node:child_process';
import { createHash } from 'node:crypto';
import { access, mkdir, mkdtemp, readdir, readFile, rename, rm, writeFile } from 'node:fs/promises';
import { homedir } from 'node:os';
import { basename, dirname, join } from 'node:path';
import { promisify } from 'node:util';

const run = promisify(execFile);

/** Tested versions of Kubernetes. The first one is the default. */
export const KUBERNETES_VERSIONS = ['1.36.3', '1.33.13'] as const;
/** Version of the control plane: the minor version in `KUBERNETES`, such as `1.33`. */
export const KUBERNETES_VERSION = testedVersion(process.env.KUBERNETES);
export const ETCD_VERSION = '3.6.16';
export const HELM_VERSION = '3.22.0';
export const KUEUE_VERSION = '0.17.0';

/** A compiler that collects garbage only at this limit needs a third less CPU time. */
const COMPILER_HEAP = { GOGC: 'off', GOMEMLIMIT: '2GiB' };
const BUILD_LIMIT_MS = 30 * 60_000;
const stopped = new AbortController();

/** Aborts the current build. Its caller gets an error, and no files remain. */
export const stopBuilding = (): void => stopped.abort();

/** Paths of the executables. */
export interface Binaries {
  readonly etcd: string;
  readonly apiServer: string;
  readonly scheduler: string;
  readonly controllerManager: string;
  readonly kubectl: string;
  readonly helm: string;
  /** The Go controller in `test/cluster/client`. */
  readonly client: string;
}

/** Identity of a cache folder. */
interface Tool {
  readonly tool: string;
  readonly version: string;
}

interface Source extends Tool {
  readonly module: string;
  /** Package of the main function by name of the executable. */
  readonly commands: Readonly<Record<string, string>>;
  readonly linkerFlags: readonly string[];
  /** Version of the published modules that `module` replaces by local folders. */
  readonly stagingVersion?: string;
}

const KUBERNETES = kubernetesSource('kubernetes', KUBERNETES_VERSION, [
  'kube-apiserver',
  'kube-scheduler',
  'kube-controller-manager',
]);

/** Separate from the control plane, because it can be used without one. It has the same version for each control plane. */
const KUBECTL = kubernetesSource('kubectl', KUBERNETES_VERSIONS[0], ['kubectl']);

/** Separate, because only the kubelet suite needs it. */
const KUBELET = kubernetesSource('kubelet', KUBERNETES_VERSIONS[0], ['kubelet']);

const ETCD: Source = {
  tool: 'etcd',
  version: ETCD_VERSION,
  module: 'go.etcd.io/etcd/server/v3',
  commands: { etcd: 'go.etcd.io/etcd/server/v3' },
  linkerFlags: [],
};

const HELM: Source = {
  tool: 'helm',
  version: HELM_VERSION,
  module: 'helm.sh/helm/v3',
  commands: { helm: 'helm.sh/helm/v3/cmd/helm' },
  linkerFlags: [`-X helm.sh/helm/v3/internal/version.version=v${HELM_VERSION}`],
};

/** Only its own suite needs it. */
const KUEUE: Source = {
  tool: 'kueue',
  version: KUEUE_VERSION,
  module: 'sigs.k8s.io/kueue',
  commands: { kueue: 'sigs.k8s.io/kueue/cmd/kueue' },
  linkerFlags: [`-X sigs.k8s.io/kueue/pkg/version.GitVersion=v${KUEUE_VERSION}`],
};

/** Modules of the kinds that Kueue queues, with their CustomResourceDefinitions. */
const QUEUED_KINDS: Readonly<Record<string, string>> = {
  'sigs.k8s.io/jobset': 'config/components/crd/bases/jobset.x-k8s.io_jobsets.yaml',
  'sigs.k8s.io/lws': 'config/crd/bases/leaderworkerset.x-k8s.io_leaderworkersets.yaml',
  'github.com/ray-project/kuberay/ray-operator': 'config/crd/bases/ray.io_rayclusters.yaml',
};

/** Interpreter of Lua that Argo CD contains. */
const LUA = { tool: 'glua', version: '1.1.1' };

const CLIENT = join(import.meta.dirname, '../client');

/**
 * Returns the tested version with this minor version.
 * @throws Error that names the tested versions
 */
export function testedVersion(minor: string | undefined): string {
  if (minor === undefined || minor === '') return KUBERNETES_VERSIONS[0];
  const version = KUBERNETES_VERSIONS.find((each) => each === minor || each.startsWith(`${minor}.`));
  if (version !== undefined) return version;
  const minors = KUBERNETES_VERSIONS.map((each) => each.slice(0, each.lastIndexOf('.')));
  throw new Error(`KUBERNETES is ${minor}; set it to one of ${minors.join(', ')}`);
}

function kubernetesSource(tool: string, version: string, commands: readonly string[]): Source {
  const [, minor = '', patch = ''] = version.split('.');
  return {
    ...{ tool, version, module: 'k8s.io/kubernetes' },
    commands: Object.fromEntries(commands.map((name) => [name, `k8s.io/kubernetes/cmd/${name}`])),
    linkerFlags: [
      `-X k8s.io/component-base/version.gitVersion=v${version}`,
      '-X k8s.io/component-base/version.gitMajor=1',
      `-X k8s.io/component-base/version.gitMinor=${minor}`,
    ],
    stagingVersion: `v0.${minor}.${patch}`,
  };
}

/** Folder of cached builds: `karpenter-ts/cluster` in `$XDG_CACHE_HOME`, by default in `~/.cache`. */
export const cacheFolder = (): string =>
  join(process.env.XDG_CACHE_HOME || join(homedir(), '.cache'), 'karpenter-ts', 'cluster');

/**
 * Returns the executables, and builds missing ones.
 * @throws Error that names the missing Go toolchain
 */
export async function binaries(progress: (message: string) => void = () => {}): Promise<Binaries> {
  // Builds run in sequence, because each uses every core and their memory would add up.
  const published = (source: Source): Promise<string> => built(source, (work) => build(source, work), progress);
  const etcd = await published(ETCD);
  const kubernetes = await published(KUBERNETES);
  const kubectl = await published(KUBECTL);
  const helm = await helmProgram(progress);
  const client = await clientProgram(progress);
  return {
    etcd: join(etcd, 'etcd'),
    apiServer: join(kubernetes, 'kube-apiserver'),
    scheduler: join(kubernetes, 'kube-scheduler'),
    controllerManager: join(kubernetes, 'kube-controller-manager'),
    kubectl: join(kubectl, 'kubectl'),
    helm,
    client,
  };
}

/** Returns the executable of helm, and builds it if it is missing. */
export const helmProgram = async (progress: (message: string) => void = () => {}): Promise<string> =>
  join(await built(HELM, (work) => build(HELM, work), progress), 'helm');

/** Returns the executable of the kubelet, and builds it if it is missing. */
export const kubeletProgram = async (progress: (message: string) => void = () => {}): Promise<string> =>
  join(await built(KUBELET, (work) => build(KUBELET, work), progress), 'kubelet');

/** Kueue's controller and the files of its release. */
export interface KueueFiles {
  readonly program: string;
  /** Archive of the chart. */
  readonly chart: string;
  /** Folder with the CustomResourceDefinitions of JobSet, LeaderWorkerSet and RayCluster. */
  readonly kinds: string;
}

/** Returns the files of Kueue, and builds missing ones. */
export async function kueueFiles(progress: (message: string) => void = () => {}): Promise<KueueFiles> {
  const helm = await helmProgram(progress);
  const make = async (work: string): Promise<void> => {
    await build(KUEUE, work);
    const bin = join(work, 'bin');
    await mkdir(join(bin, 'kinds'));
    for (const [module, file] of Object.entries(QUEUED_KINDS))
      await writeFile(join(bin, 'kinds', basename(file)), await readFile(join(await moduleFolder(work, module), file)));
    await run(helm, ['package', join(await moduleFolder(work, KUEUE.module), 'charts/kueue'), '--destination', bin]);
  };
  const folder = await built(KUEUE, make, progress);
  return {
    program: join(folder, 'kueue'),
    chart: join(folder, `kueue-${KUEUE_VERSION}.tgz`),
    kinds: join(folder, 'kinds'),
  };
}

/** Returns the folder of a module that the wrapper module in `work` uses. */
const moduleFolder = async (work: string, module: string): Promise<string> =>
  (await go(work, 'list', '-mod=mod', '-m', '-f', '{{.Dir}}', module)).trim();

/** Returns the executable of the Lua interpreter, and builds it if it is missing. */
export async function luaProgram(progress: (message: string) => void = () => {}): Promise<string> {
  const make = async (work: string): Promise<void> => {
    await requireGo();
    const env = { ...process.env, GOBIN: join(work, 'bin'), CGO_ENABLED: '0' };
    await run('go', ['install', `github.com/yuin/gopher-lua/cmd/glua@v${LUA.version}`], { cwd: work, env });
  };
  return join(await built(LUA, make, progress), 'glua');
}

/** Returns the executable of the Go program in this repository, and builds it if its source has changed. */
export async function clientProgram(progress: (message: string) => void = () => {}): Promise<string> {
  const hash = createHash('sha256');
  for (const file of (await readdir(CLIENT)).sort()) hash.update(file).update(await readFile(join(CLIENT, file)));
  const tool = { tool: 'client', version: hash.digest('hex').slice(0, 12) };
  const make = async (work: string): Promise<void> => {
    await requireGo();
    await go(CLIENT, 'build', ...buildFlags(), '-o', join(work, 'bin', 'client'), '.');
  };
  return join(await built(tool, make, progress), 'client');
}

/**
 * Returns the folder with a tool's executables.
 * @param make builds the executables into `bin` of the given folder
 */
export async function built(
  { tool, version }: Tool,
  make: (work: string) => Promise<void>,
  progress: (message: string) => void,
): Promise<string> {
  const folder = join(cacheFolder(), `${tool}-${version}-${process.platform}-${process.arch}`);
  if (await exists(folder)) return folder;
  const started = performance.now();
  progress(`building ${tool} ${version} (once; later runs reuse ${folder})`);
  await mkdir(dirname(folder), { recursive: true });
  const work = await mkdtemp(`${folder}.building-`);
  try {
    await make(work);
    await publish(join(work, 'bin'), folder);
  } finally {
    await rm(work, { recursive: true, force: true });
  }
  progress(`built ${tool} ${version} in ${Math.round((performance.now() - started) / 1000)} s`);
  return folder;
}

/** Renames the folder to its final name after it is complete, so concurrent builders do not conflict. */
async function publish(from: string, to: string): Promise<void> {
  try {
    await rename(from, to);
  } catch (error) {
    if (!(await exists(to))) throw error;
  }
}

async function build(source: Source, work: string): Promise<void> {
  await requireGo();
  const { commands, linkerFlags } = source;
  await writeFile(join(work, 'go.mod'), await wrapperModule(source, work));
  // Go keeps requirements that some file of the module imports, with any build tags.
  const imports = Object.values(commands).map((path) => `import _ "${path}"`);
  await writeFile(join(work, 'tools.go'), `//go:build tools\n\npackage tools\n\n${imports.join('\n')}\n`);
  for (const [name, path] of Object.entries(commands))
    await go(work, 'build', '-mod=mod', ...buildFlags(linkerFlags), '-o', join(work, 'bin', name), path);
}

/**
 * Flags of every build, so that builds share compiled packages. They omit debug information that the linker removes, which saves
 * a fifth of the compile time.
 */
const buildFlags = (linkerFlags: readonly string[] = []): readonly string[] => [
  '-trimpath',
  '-gcflags=all=-dwarf=false',
  '-ldflags',
  ['-s', '-w', ...linkerFlags].join(' '),
];

/** Wrapper module around the source, because its replacements by local folders do not apply outside its repository. */
async function wrapperModule({ module, version, stagingVersion }: Source, work: string): Promise<string> {
  const lines = ['module wrapper', '', 'go 1.26', '', `require ${module} v${version}`];
  if (stagingVersion !== undefined) {
    await writeFile(join(work, 'go.mod'), 'module wrapper\n');
    const { GoMod } = JSON.parse(await go(work, 'mod', 'download', '-json', `${module}@v${version}`)) as {
      readonly GoMod: string;
    };
    const staged = (await readFile(GoMod, 'utf8')).matchAll(/^\s*(?:replace )?(\S+) => \.\/staging\//gm);
    for (const [, name] of staged) lines.push(`replace ${name} => ${name} ${stagingVersion}`);
  }
  return `${lines.join('\n')}\n`;
}

async function go(folder: string, ...argv: readonly string[]): Promise<string> {
  const settings = { CGO_ENABLED: '0', GOWORK: 'off', GOFLAGS: '-buildvcs=false' };
  const env = { ...process.env, ...settings, ...COMPILER_HEAP };
  try {
    const { stdout } = await run('go', argv, {
      cwd: folder,
      env,
      timeout: BUILD_LIMIT_MS,
      signal: stopped.signal,
      // On this signal, go stops its compilers before it exits.
      killSignal: 'SIGINT',
      maxBuffer: 64 * 1024 * 1024,
    });
    return stdout;
  } catch (error) {
    const { stderr = '' } = error as { readonly stderr?: string };
    throw new Error(`go ${argv.join(' ')} failed:\n${stderr.split('\n').slice(-30).join('\n')}`, { cause: error });
  }
}

async function requireGo(): Promise<void> {
  try {
    await run('go', ['version']);
  } catch (error) {
    throw new Error(
      'No Go toolchain: `go version` failed. The cluster suite builds a Kubernetes control plane from source; ' +
        'install Go 1.26 or newer (https://go.dev/dl) and put its bin folder on the PATH.',
      { cause: error },
    );
  }
}

const exists = (path: string): Promise<boolean> =>
  access(path).then(
    () => true,
    () => false,
  );
