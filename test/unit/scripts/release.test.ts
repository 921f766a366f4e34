import { execFileSync, spawnSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { krewManifest, LAUNCHER, LAUNCHER_NAME, PLATFORMS } from '../../../scripts/release/archives.ts';
import { CHECKSUMS, checksums, ROOT, run, valuesWithImage } from '../../../scripts/release/artifacts.ts';

const text = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

describe('an artifact of a release', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'release-'));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('has a checksum that sha256sum accepts, and a changed file fails', () => {
    writeFileSync(join(folder, 'b.tgz'), 'b');
    writeFileSync(join(folder, 'a.tgz'), 'a');
    writeFileSync(join(folder, CHECKSUMS), checksums(folder));
    expect(execFileSync('sha256sum', ['--check', CHECKSUMS], { cwd: folder, encoding: 'utf8' })).toBe(
      'a.tgz: OK\nb.tgz: OK\n',
    );
    writeFileSync(join(folder, 'a.tgz'), 'c');
    expect(() => run('sha256sum', ['--check', CHECKSUMS], folder)).toThrow(/a\.tgz: FAILED/);
  });

  it('contains a chart whose values differ only in the image', () => {
    const values = text('charts/karpenter/values.yaml');
    const image = { repository: 'ghcr.io/acme/karpenter-ts/controller', tag: '0.1.0', digest: 'sha256:ab' };
    const changed = valuesWithImage(values, image);
    const before = parse(values) as { readonly controller: object };
    expect(parse(changed)).toEqual({ ...before, controller: { ...before.controller, image } });
    const comments = (source: string): number => source.match(/^ *#/gm)?.length ?? 0;
    expect(comments(changed)).toBe(comments(values));
  });
});

describe('the plugin for krew', () => {
  let folder: string;
  beforeEach(() => {
    folder = mkdtempSync(join(tmpdir(), 'plugin '));
  });
  afterEach(() => rmSync(folder, { recursive: true }));

  it('has an archive with a checksum for each platform', () => {
    const sums: string[] = [];
    const manifest = parse(
      krewManifest('1.2.3', 'https://github.com/acme/k', (archive) => {
        sums.push(archive);
        return 'ab'.repeat(32);
      }),
    ) as { readonly spec: { readonly platforms: readonly { readonly selector: unknown; readonly uri: string }[] } };
    expect(manifest).toMatchObject({ kind: 'Plugin', metadata: { name: 'karpenter' }, spec: { version: 'v1.2.3' } });
    const { platforms } = manifest.spec;
    expect(platforms.map(({ selector }) => selector)).toEqual(
      [
        ['linux', 'amd64'],
        ['linux', 'arm64'],
        ['darwin', 'amd64'],
        ['darwin', 'arm64'],
      ].map(([os, arch]) => ({ matchLabels: { os, arch } })),
    );
    expect(platforms.map(({ uri }) => uri)).toEqual(
      sums.map((archive) => `https://github.com/acme/k/releases/download/v1.2.3/${archive}`),
    );
    for (const platform of platforms) expect(platform).toMatchObject({ bin: LAUNCHER_NAME, sha256: 'ab'.repeat(32) });
  });

  it('has a Node.js that the command line accepts', () => {
    for (const { runtime } of PLATFORMS) {
      const [, major = 0, minor = 0] = (/@(\d+)\.(\d+)\.\d+$/.exec(runtime) ?? []).map(Number);
      expect(major * 100 + minor).toBeGreaterThanOrEqual(2219);
    }
  });

  it('starts the Node.js beside the launcher through links, and passes arguments and the exit code', () => {
    const store = join(folder, 'store');
    mkdirSync(join(store, 'bin'), { recursive: true });
    writeFileSync(join(store, LAUNCHER_NAME), LAUNCHER, { mode: 0o755 });
    writeFileSync(join(store, 'node'), `#!/bin/sh\nprintf '<%s>' "$@"\nexit 3\n`, { mode: 0o755 });
    symlinkSync(join('store', LAUNCHER_NAME), join(folder, 'relative'));
    symlinkSync(join(folder, 'relative'), join(folder, 'absolute'));
    for (const link of ['relative', 'absolute']) {
      const { status, stdout } = spawnSync(join(folder, link), ['explain', 'a b'], { encoding: 'utf8' });
      expect([status, stdout]).toEqual([3, `<${join(store, 'bin/karpenter.js')}><explain><a b>`]);
    }
  });
});

describe('a workflow', () => {
  type Step = { readonly run?: string; readonly uses?: string };
  type Job = {
    readonly needs?: string | readonly string[];
    readonly permissions?: Readonly<Record<string, string>>;
    readonly steps?: readonly Step[];
  };
  const jobs = (file: string): Readonly<Record<string, Job>> =>
    (parse(text(`.github/workflows/${file}`)) as { readonly jobs: Readonly<Record<string, Job>> }).jobs;
  const scripts = Object.keys((JSON.parse(text('package.json')) as { readonly scripts: object }).scripts);

  it('runs its part of the suites, which together are all', () => {
    const commands = text('.github/workflows/check.yml');
    const suites = scripts.filter((name) => name.startsWith('test:'));
    expect(suites.length).toBeGreaterThan(5);
    expect(suites.filter((name) => !commands.includes(`npm run ${name}`))).toEqual([]);
  });

  it('has no negated command, whose failure the shell ignores', () => {
    for (const file of ['check.yml', 'release.yml']) expect(text(`.github/workflows/${file}`)).not.toMatch(/^ *! /m);
  });

  it('builds a release without the permission to publish, and publishes without the code of dependencies', () => {
    const release = Object.entries(jobs('release.yml'));
    const writers = release.filter(([, { permissions = {} }]) => Object.values(permissions).includes('write'));
    expect(writers.map(([name]) => name)).toEqual(['publish', 'release']);
    for (const [, { steps = [] }] of writers) {
      expect(steps.map(({ uses = '' }) => uses).join()).not.toContain('actions/checkout');
      expect(steps.map(({ run: command = '' }) => command).join('\n')).not.toMatch(/\b(npm|npx|node)\b/);
    }
    expect(jobs('release.yml')).toMatchObject({
      build: { needs: ['version', 'check'] },
      publish: { needs: ['version', 'build'] },
      release: { needs: 'publish' },
    });
  });

  it('releases only a tag of main', () => {
    const version = jobs('release.yml')
      .version?.steps?.map(({ run: command = '' }) => command)
      .join('\n');
    expect(version).toContain('git merge-base --is-ancestor "$GITHUB_SHA" origin/main');
  });
});
