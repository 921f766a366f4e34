/** Contents of the release artifacts: the bundle in the image, and the npm package, which has no dependencies. */
import { execFileSync, spawnSync } from 'node:child_process';
import {
  cpSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from 'node:fs';
import { tmpdir } from 'node:os';
import { delimiter, join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import type { ReplayResult } from '#replay/run';

const ROOT = join(import.meta.dirname, '../../..');
const PARTS =
  'bin build.ts charts crds examples scripts/package.ts scripts/sbom.ts src package.json package-lock.json tsconfig.json README.md LICENSE .npmrc'.split(
    ' ',
  );
const LIMIT_MS = 240_000;
/** Build argument of the image, because its build has no git metadata. */
const REVISION = '0123456789abcdef';

interface Sbom {
  readonly components: readonly { readonly name: string; readonly licenses: readonly unknown[] }[];
}

interface Packed {
  readonly filename: string;
  readonly files: readonly { readonly path: string }[];
}

describe('a release artifact', () => {
  const folder = mkdtempSync(join(tmpdir(), 'karpenter-package-'));
  const checkout = join(folder, 'checkout');
  const empty = join(folder, 'empty');
  let packed: Packed;

  const { NODE_OPTIONS: _, ...rest } = process.env;
  const env: NodeJS.ProcessEnv = { ...rest, PATH: `${join(ROOT, 'node_modules/.bin')}${delimiter}${process.env.PATH}` };
  const npm = (cwd: string, ...args: readonly string[]): string =>
    execFileSync('npm', args, { cwd, env, encoding: 'utf8', stdio: ['ignore', 'pipe', 'pipe'] });

  beforeAll(() => {
    mkdirSync(checkout);
    mkdirSync(empty);
    for (const part of PARTS) cpSync(join(ROOT, part), join(checkout, part), { recursive: true });
    symlinkSync(join(ROOT, 'node_modules'), join(checkout, 'node_modules'));
    env.SOURCE_REVISION = REVISION;
    const output = npm(checkout, 'run', '--silent', 'package', '--', '--json');
    [packed] = JSON.parse(output) as [Packed];
    npm(empty, 'install', '--offline', '--no-package-lock', join(checkout, packed.filename));
  }, LIMIT_MS);
  afterAll(() => rmSync(folder, { recursive: true, force: true }));

  const filesOf = (path: string): readonly string[] => readdirSync(join(checkout, path));
  /** Returns our own sources in the bundles of a folder. */
  const sourcesIn = (path: string): readonly string[] =>
    filesOf(path)
      .filter((name) => name.endsWith('.map'))
      .flatMap(
        (name) => (JSON.parse(readFileSync(join(checkout, path, name), 'utf8')) as { sources: string[] }).sources,
      )
      .flatMap((source) => /(?:^|\/)(src\/.*)$/.exec(source)?.[1] ?? []);

  it('contains in the bundle of the operator the schemas of the requests that it sends only', () => {
    const texts = filesOf('dist/operator')
      .filter((name) => name.endsWith('.js'))
      .map((name) => readFileSync(join(checkout, 'dist/operator', name), 'utf8'));
    expect(texts.some((text) => text.includes('CreateFleetRequest'))).toBe(true);
    expect(texts.filter((text) => /TransitGateway|ClientVpn|VerifiedAccess/.test(text))).toEqual([]);
  });

  it('contains in the image the bundle of the operator only', () => {
    const stages = readFileSync(join(ROOT, 'Dockerfile'), 'utf8').split(/^FROM /m);
    const copied = [...(stages.at(-1) ?? '').matchAll(/^(?:COPY|ADD) (.*)$/gm)].map(([, what]) => what);
    expect(copied).toEqual([
      '--from=build /src/dist/operator /app',
      '--from=build --chown=65532:65532 /compiled /app/compiled',
    ]);
    expect(filesOf('dist/operator')).toEqual(expect.arrayContaining(['main.js', 'doctor.js', 'engine-worker.js']));
    expect(filesOf('dist/operator')).not.toContain('cli.js');
    expect(filesOf('dist/operator').filter((name) => !/\.js(\.map|\.LEGAL\.txt)?$/.test(name))).toEqual(['page']);
    const served = readdirSync(join(ROOT, 'src/live/page')).filter((name) => name !== 'tsconfig.json');
    expect(filesOf('dist/operator/page').toSorted()).toEqual(served.toSorted());
  });

  it('contains its source revision if it is a bundle', () => {
    for (const path of ['dist/operator', 'dist/cli']) {
      const code = filesOf(path).filter((name) => name.endsWith('.js'));
      expect(code.some((name) => readFileSync(join(checkout, path, name), 'utf8').includes(REVISION))).toBe(true);
    }
  });

  it('contains in the bundle of the operator neither the local cluster nor the command line', () => {
    const sources = sourcesIn('dist/operator');
    expect(sources).toEqual(
      expect.arrayContaining(['src/main.ts', 'src/engine/solve.ts', 'src/engine-worker/worker.ts']),
    );
    // The doctor of `helm test` prints its findings as the command line does.
    const rest = sources.filter((source) => /^src\/(local|cli)\b/.test(source));
    expect(rest.toSorted()).toEqual(['src/cli/render/findings.ts', 'src/cli/render/table.ts']);
    expect(sourcesIn('dist/cli')).toContain('src/local/world.ts');
  });

  it('lists in the image the packages of the bundle, and no others', () => {
    execFileSync(process.execPath, ['scripts/sbom.ts', 'dist/operator'], { cwd: checkout, env });
    const sbom = JSON.parse(readFileSync(join(checkout, 'dist/operator/sbom.cdx.json'), 'utf8')) as Sbom;
    expect(sbom).toMatchObject({
      bomFormat: 'CycloneDX',
      metadata: { component: { 'bom-ref': 'karpenter-ts@0.1.0' } },
    });
    const names = sbom.components.map(({ name }) => name);
    expect(names).toEqual(expect.arrayContaining(['@aws-sdk/client-ec2', '@kubernetes/client-node', 'pino']));
    expect(names.filter((name) => /^(react|ink|commander|esbuild|jest)$/.test(name))).toEqual([]);
    expect(sbom.components.every(({ licenses }) => licenses.length > 0)).toBe(true);
    unlinkSync(join(checkout, 'dist/operator/sbom.cdx.json'));
  });

  it('is plain ASCII if it is the bundle of the operator, because V8 would otherwise store two bytes per character', () => {
    const codes = filesOf('dist/operator').filter((name) => name.endsWith('.js'));
    const texts = codes.map((name) => [name, readFileSync(join(checkout, 'dist/operator', name), 'utf8')] as const);
    expect(texts.filter(([, text]) => /[^\0-\x7f]/.test(text)).map(([name]) => name)).toEqual([]);
    expect(texts.map(([, text]) => text).join()).toContain('|\\u00b5s|');
  });

  it('contains in the npm package bundles, manifests and charts, but no sources and no source maps', () => {
    const paths = packed.files.map(({ path }) => path);
    expect(paths).toEqual(
      expect.arrayContaining([
        'bin/karpenter.js',
        'dist/cli/cli.js',
        'dist/cli/engine-worker.js',
        'dist/operator/main.js',
        'dist/operator/engine-worker.js',
        'dist/operator/page/index.html',
        'charts/karpenter/Chart.yaml',
        'charts/karpenter-crd/Chart.yaml',
        'crds/karpenter.sh_nodepools.yaml',
        'examples/nodepool.yaml',
        'LICENSE',
        'README.md',
        'package.json',
      ]),
    );
    expect(
      paths.filter((path) => !/^((bin|dist|charts|crds|examples)\/|LICENSE$|README\.md$|package\.json$)/.test(path)),
    ).toEqual([]);
    expect(paths.filter((path) => /\.(ts|map)$/.test(path))).toEqual([]);
  });

  it('lists no dependencies in the manifest of the npm package', () => {
    const manifest = JSON.parse(readFileSync(join(empty, 'node_modules/karpenter-ts/package.json'), 'utf8')) as object;
    expect(Object.keys(manifest).filter((field) => /dependencies|scripts|overrides/i.test(field))).toEqual([]);
  });

  it('installs without other packages from the npm package', () => {
    const installed = readdirSync(join(empty, 'node_modules')).filter((name) => !name.startsWith('.'));
    expect(installed).toEqual(['karpenter-ts']);
  });

  const karpenter = (node: string, ...args: readonly string[]): ReturnType<typeof spawnSync> =>
    spawnSync(node, [join(empty, 'node_modules/.bin/karpenter'), ...args], {
      cwd: empty,
      encoding: 'utf8',
      env: { PATH: '' },
    });

  it('runs the command line from the npm package', () => {
    const { version } = JSON.parse(readFileSync(join(ROOT, 'package.json'), 'utf8')) as { version: string };
    expect(karpenter(process.execPath, '--version')).toMatchObject({ status: 0, stdout: `${version}\n` });
    const examples = join(empty, 'node_modules/karpenter-ts/examples');
    const simulated = karpenter(process.execPath, 'simulate', '-f', examples, '-o', 'json');
    expect({ status: simulated.status, stderr: simulated.stderr }).toMatchObject({ status: 0 });
    expect(JSON.parse(String(simulated.stdout))).toHaveProperty('nodeClaims');
  });

  it('replays several variants in parallel from the npm package', () => {
    const examples = join(empty, 'node_modules/karpenter-ts/examples/replay');
    const what = ['-f', join(examples, 'nodepool.yaml'), '--trace', join(examples, 'tiny.jsonl'), '--until', '2m'];
    const sets = ['--compare', 'a=--packing=compatible', '--compare', 'b=', '--parallel', '2'];
    const { status, stdout, stderr } = karpenter(process.execPath, 'replay', ...what, ...sets, '-o', 'json');
    expect({ status, stderr }).toMatchObject({ status: 0 });
    const { runs } = JSON.parse(String(stdout)) as ReplayResult;
    expect(runs.map(({ name, isComplete }) => ({ name, isComplete }))).toEqual([
      { name: 'a', isComplete: true },
      { name: 'b', isComplete: true },
    ]);
  });

  it('reports in one line that a replay of the npm package needs more memory', () => {
    const examples = join(empty, 'node_modules/karpenter-ts/examples/replay');
    const what = ['-f', join(examples, 'nodepool.yaml'), '--trace', join(examples, 'tiny.jsonl'), '--until', '2m'];
    const { status, stdout, stderr } = karpenter(process.execPath, 'replay', ...what, '--memory', '256Mi');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^karpenter replay: set default: it needs more than a heap of .* raise --memory, now 256Mi\n$/m,
    );
  });

  describe('with an old Node.js', () => {
    const shim = join(folder, 'old.mjs');
    beforeAll(() =>
      writeFileSync(
        shim,
        "Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '20.1.0' } });",
      ),
    );
    const onOldNode = (...args: readonly string[]): ReturnType<typeof spawnSync> =>
      spawnSync(process.execPath, ['--import', shim, join(empty, 'node_modules/.bin/karpenter'), ...args], {
        cwd: empty,
        encoding: 'utf8',
        env: { PATH: '' },
      });

    it('prints the remedy in one line', () => {
      expect(onOldNode('--version')).toMatchObject({
        status: 1,
        stdout: '',
        stderr: expect.stringMatching(
          /^karpenter needs Node\.js .*, this is 20\.1\.0: run "npm install node@24" .*\n$/,
        ),
      });
    });

    it('uses the installed npm package node, and returns its exit code', () => {
      const beside = join(empty, 'node_modules/node');
      symlinkSync(join(ROOT, 'node_modules/node'), beside);
      try {
        expect(onOldNode('--version')).toMatchObject({ status: 0, stdout: expect.stringMatching(/^\d+\.\d+\.\d+\n$/) });
        expect(onOldNode('no-such-verb')).toMatchObject({ status: 2 });
      } finally {
        unlinkSync(beside);
      }
    });
  });
});
