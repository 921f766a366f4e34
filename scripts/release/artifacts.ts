/** Artifacts of a release: packaged charts, the npm package, a bill of materials and checksums. */
import { execFileSync } from 'node:child_process';
import { createHash } from 'node:crypto';
import { cpSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join, resolve } from 'node:path';
import { parseDocument } from 'yaml';

export const ROOT = resolve(import.meta.dirname, '../..');
export const CHECKSUMS = 'SHA256SUMS';
const CHARTS = ['karpenter-crd', 'karpenter'];

/** Image that the packaged chart deploys. */
export interface ReleaseImage {
  readonly repository: string;
  readonly tag: string;
  /** `sha256:…`. Empty if the image has not been built. */
  readonly digest: string;
}

/** Runs a program in the checkout and returns its standard output. @throws Error with the output of the program */
export function run(command: string, args: readonly string[], cwd = ROOT): string {
  try {
    return execFileSync(command, args, { cwd, encoding: 'utf8', maxBuffer: 64 * 2 ** 20, stdio: 'pipe' });
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { readonly stdout?: string; readonly stderr?: string };
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}${stderr || String(error)}`, { cause: error });
  }
}

/** Returns true if this machine has the program. */
export function hasProgram(command: string, ...args: readonly string[]): boolean {
  try {
    execFileSync(command, args, { stdio: 'ignore' });
    return true;
  } catch {
    return false;
  }
}

/** Returns the chart's values with this image. Comments stay. */
export function valuesWithImage(values: string, image: ReleaseImage): string {
  const document = parseDocument(values);
  for (const [field, value] of Object.entries(image)) document.setIn(['controller', 'image', field], value);
  return document.toString({ lineWidth: 0 });
}

/** Packages both charts into the folder. The sources of the charts do not change. */
export function packageCharts(helm: string, image: ReleaseImage, folder: string): readonly string[] {
  const work = mkdtempSync(join(tmpdir(), 'karpenter-charts-'));
  try {
    for (const chart of CHARTS) {
      cpSync(join(ROOT, 'charts', chart), join(work, chart), { recursive: true });
      const values = join(work, chart, 'values.yaml');
      if (chart === 'karpenter') writeFileSync(values, valuesWithImage(readFileSync(values, 'utf8'), image));
      run(helm, ['package', join(work, chart), '--destination', resolve(folder)]);
    }
    return CHARTS.map((chart) => `${chart}-${image.tag}.tgz`);
  } finally {
    rmSync(work, { recursive: true, force: true });
  }
}

/** Builds the bundles and packs them with `npm pack`. Returns the name of the file in the folder. */
export function packageCommandLine(folder: string): string {
  run(process.execPath, ['build.ts']);
  run(process.execPath, ['scripts/package.ts']);
  const [packed] = JSON.parse(run('npm', ['pack', './package', '--json', '--pack-destination', resolve(folder)])) as {
    readonly filename: string;
  }[];
  if (packed === undefined) throw new Error('npm pack reported no file');
  return packed.filename;
}

/** Writes the bundled dependencies in CycloneDX's format. Returns the name of the file in the folder. */
export function writeBillOfMaterials(version: string, folder: string): string {
  const file = `karpenter-ts-${version}.cdx.json`;
  const args = ['sbom', '--omit=dev', '--sbom-format=cyclonedx', '--sbom-type=application', '--package-lock-only'];
  writeFileSync(join(folder, file), run('npm', args));
  return file;
}

/** Returns the SHA-256 checksum of a file. */
export const sha256 = (path: string): string => createHash('sha256').update(readFileSync(path)).digest('hex');

/** Returns a line for each file of the folder, as `sha256sum --check` reads it. */
export const checksums = (folder: string): string =>
  readdirSync(folder)
    .filter((file) => file !== CHECKSUMS)
    .sort()
    .map((file) => `${sha256(join(folder, file))}  ${file}\n`)
    .join('');
