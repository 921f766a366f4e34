/**
 * Writes the software bill of materials of a bundle in the CycloneDX format: npm's list of dependencies, without packages
 * that have no code in the bundle. The source maps of the bundle name its sources. `node scripts/sbom.ts FOLDER`
 */
import { execFileSync } from 'node:child_process';
import { readdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';

interface Sbom {
  readonly serialNumber?: string;
  readonly metadata: {
    readonly timestamp?: string;
    readonly component: { readonly name: string; readonly 'bom-ref': string };
  };
  readonly components: readonly { readonly 'bom-ref': string }[];
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[];
}

/** Returns name and version of the packages with code in a bundle. */
function packagesIn(folder: string): ReadonlySet<string> {
  const maps = readdirSync(folder).filter((name) => name.endsWith('.map'));
  const sources = maps.flatMap((name) => {
    const map = JSON.parse(readFileSync(join(folder, name), 'utf8')) as { readonly sources: readonly string[] };
    return map.sources;
  });
  const roots = new Set(
    sources.flatMap((path) => /(node_modules\/.*)?node_modules\/(@[^/]+\/)?[^/]+/.exec(path)?.[0] ?? []),
  );
  return new Set(
    [...roots].map((root) => {
      const manifest = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as Record<string, string>;
      return `${manifest.name}@${manifest.version}`;
    }),
  );
}

const [folder = 'dist/operator'] = process.argv.slice(2);
// With `--omit dev`, npm also omits packages that other packages use for development.
const listed = execFileSync('npm', ['sbom', '--sbom-format', 'cyclonedx', '--package-lock-only'], {
  encoding: 'utf8',
  maxBuffer: 64 * 1024 * 1024,
});
// A random number and a time would make every build different.
const { serialNumber: _serial, ...sbom } = JSON.parse(listed) as Sbom;
const { timestamp: _time, component, ...others } = sbom.metadata;
// npm uses the name of the folder.
const metadata = { ...others, component: { ...component, name: component['bom-ref'].replace(/@[^@]*$/, '') } };
const bundled = packagesIn(folder);
const components = sbom.components
  .filter((component) => bundled.has(component['bom-ref']))
  // npm marks packages that tools also use as excluded.
  .map((component) => ({ ...component, scope: 'required' }));
const refs = new Set([metadata.component['bom-ref'], ...components.map((component) => component['bom-ref'])]);
const missing = [...bundled].filter((name) => !refs.has(name));
if (missing.length > 0) throw new Error(`npm sbom does not list ${missing.join(', ')}, which the bundle contains`);
const dependencies = sbom.dependencies
  .filter(({ ref }) => refs.has(ref))
  .map(({ ref, dependsOn }) => ({ ref, dependsOn: dependsOn.filter((name) => refs.has(name)) }));
writeFileSync(
  join(folder, 'sbom.cdx.json'),
  `${JSON.stringify({ ...sbom, metadata, components, dependencies }, undefined, 2)}\n`,
);
