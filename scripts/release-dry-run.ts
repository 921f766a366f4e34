/**
 * Builds the artifacts of a release in a folder, and installs from them: `npm run release:dry-run -- --folder release`.
 * The release workflow runs it with `--image` and `--digest` of the image that it built. Without them, buildah builds an
 * archive of the image, with every `--build-arg NAME=VALUE`. The archive is skipped if buildah is not installed or cannot
 * pull the base images. `HELM` is the path of helm if it is not in `PATH`.
 */
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseArgs } from 'node:util';
import { COMPLETION_NAME, KREW_MANIFEST, krewManifest, LAUNCHER_NAME, packageArchives } from './release/archives.ts';
import {
  CHECKSUMS,
  checksums,
  hasProgram,
  packageCharts,
  packageCommandLine,
  type ReleaseImage,
  ROOT,
  run,
  sha256,
  writeBillOfMaterials,
} from './release/artifacts.ts';

const { values } = parseArgs({
  options: {
    folder: { type: 'string', default: 'release' },
    image: { type: 'string', default: 'registry.example.com/karpenter-ts' },
    digest: { type: 'string', default: '' },
    'build-arg': { type: 'string', multiple: true, default: [] },
  },
});
const { version, repository } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as {
  readonly version: string;
  readonly repository: string;
};
const helm = process.env.HELM ?? 'helm';
const folder = resolve(values.folder);
const report = (line: string): void => void process.stdout.write(`${line}\n`);

if (!hasProgram(helm, 'version'))
  throw new Error(`Cannot run ${helm}; install helm, or set HELM, for example to the helm of npm run test:cluster`);
rmSync(folder, { recursive: true, force: true });
mkdirSync(folder, { recursive: true });

const image: ReleaseImage = { repository: values.image, tag: version, digest: values.digest || archiveImage() };
for (const file of packageCharts(helm, image, folder)) report(`packaged   ${file}`);
const tarball = packageCommandLine(folder);
report(`packaged   ${tarball}`);
const archives = packageArchives(version, folder);
for (const file of archives)
  report(`packaged   ${file}, ${Math.round(statSync(join(folder, file)).size / 2 ** 20)} MiB`);
writeFileSync(
  join(folder, KREW_MANIFEST),
  krewManifest(version, repository, (file) => sha256(join(folder, file))),
);
report(`described  ${KREW_MANIFEST}`);
report(`listed     ${writeBillOfMaterials(version, folder)}`);
writeFileSync(join(folder, CHECKSUMS), checksums(folder));
report(`summed     ${CHECKSUMS}`);
installCharts();
installCommandLine();
installPlugin();
report(`${readdirSync(folder).length} files in ${folder}`);

/** Returns the reason why this machine cannot build the image. */
function obstacle(buildArgs: readonly string[]): string | undefined {
  if (!hasProgram('buildah', '--version')) return 'buildah is not installed';
  const defaults = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').matchAll(/^ARG (\w+_IMAGE)=(\S+)$/gm);
  const given = new Map(buildArgs.map((pair) => pair.split('=', 2) as [string, string]));
  for (const [, name = '', byDefault = ''] of defaults) {
    const base = given.get(name) ?? byDefault;
    if (!hasProgram('buildah', 'pull', '--policy=missing', base)) return `buildah cannot pull ${base}`;
  }
  return undefined;
}

/** Writes an archive of the image. Returns its digest, or an empty text if this machine cannot build the image. */
function archiveImage(): string {
  const buildArgs = values['build-arg'];
  const reason = obstacle(buildArgs);
  if (reason !== undefined) {
    report(`skipped    image archive: ${reason}`);
    return '';
  }
  const [name, archive] = [`karpenter-ts:${version}`, join(folder, `karpenter-ts-${version}-image.tar`)];
  const revision = run('git', ['rev-parse', 'HEAD']).trim();
  const all = [...buildArgs, `SOURCE_REVISION=${revision}`].flatMap((pair) => ['--build-arg', pair]);
  run('buildah', ['build', ...all, '--tag', name, '.']);
  const digestFile = join(folder, 'digest');
  run('buildah', ['push', '--digestfile', digestFile, name, `oci-archive:${archive}`]);
  const digest = readFileSync(digestFile, 'utf8').trim();
  rmSync(digestFile);
  report(`archived   ${archive} ${digest}`);
  return digest;
}

/** Renders the packaged charts with the required value alone. */
function installCharts(): void {
  const chart = join(folder, `karpenter-${version}.tgz`);
  const deployment = run(helm, ['template', 'karpenter', chart, '--set', 'settings.clusterName=dry-run']);
  const { repository, tag, digest } = image;
  const reference = `${repository}:${tag}${digest && `@${digest}`}`;
  if (!deployment.includes(`image: ${reference}\n`)) throw new Error(`The packaged chart does not deploy ${reference}`);
  const crds = run(helm, ['template', 'karpenter-crd', join(folder, `karpenter-crd-${version}.tgz`)]);
  const kinds = crds.match(/^kind: CustomResourceDefinition$/gm)?.length ?? 0;
  if (kinds === 0) throw new Error('The packaged chart karpenter-crd contains no CustomResourceDefinition');
  report(`rendered   charts: image ${reference}, ${kinds} CRDs`);
}

/** Installs the npm package without the checkout. */
function installCommandLine(): void {
  const empty = mkdtempSync(join(tmpdir(), 'karpenter-release-'));
  try {
    run('npm', ['install', '--no-save', '--prefix', empty, join(folder, tarball)], empty);
    const program = join(empty, 'node_modules/karpenter-ts/bin/karpenter.js');
    const said = run(process.execPath, [program, '--version'], empty).trim();
    if (said !== version) throw new Error(`The installed package reports version ${said}; expected ${version}`);
    run(process.execPath, [program, 'explain', '--help'], empty);
    report(`installed  ${tarball}: karpenter --version prints ${said}`);
  } finally {
    rmSync(empty, { recursive: true, force: true });
  }
}

/** Runs the plugin of this platform from its archive, through a link as krew creates it. */
function installPlugin(): void {
  const archive = archives.find((file) =>
    file.includes(`-${process.platform}-${process.arch.replace('x64', 'amd64')}.`),
  );
  if (archive === undefined) {
    report(`skipped    ${LAUNCHER_NAME}: no archive is for ${process.platform} ${process.arch}`);
    return;
  }
  const store = mkdtempSync(join(tmpdir(), 'karpenter-krew-'));
  try {
    run('tar', ['-xzf', join(folder, archive), '-C', store]);
    const link = join(store, 'linked');
    symlinkSync(join(store, LAUNCHER_NAME), link);
    run(link, ['--version']);
    const started = performance.now();
    const printed = run(link, ['--version']).trim();
    if (printed !== version) throw new Error(`${archive} reports version ${printed}; expected ${version}`);
    if (!run(join(store, COMPLETION_NAME), ['expl']).startsWith('explain\t'))
      throw new Error(`${archive}: ${COMPLETION_NAME} does not complete "expl"`);
    report(`installed  ${archive}: starts in ${Math.round(performance.now() - started)} ms`);
  } finally {
    rmSync(store, { recursive: true, force: true });
  }
}
