import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const text = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8');
const all = (pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

describe('the image', () => {
  it('pins its base images by digest', () => {
    const bases = new Map(all(/^ARG (\w+_IMAGE=\S+)$/gm).map((line) => line.split(/=(.*)/s) as [string, string]));
    expect([...bases.keys()]).toEqual(['BUILD_IMAGE', 'RUNTIME_IMAGE']);
    for (const base of bases.values()) expect(base).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    expect(all(/^FROM (?:--platform=\S+ )?\$\{(\w+)\}/gm)).toEqual([...bases.keys()]);
    expect(bases.get('RUNTIME_IMAGE')).toMatch(/distroless\/nodejs24-debian12:nonroot@/);
  });

  it('builds its bundle on the platform of the builder only', () => {
    expect(all(/^FROM --platform=(\S+) /gm)).toEqual(['$BUILDPLATFORM']);
  });

  it('does not need a shell at run time, and runs as a user without privileges', () => {
    const runtime = text.slice(text.lastIndexOf('\nFROM '));
    expect(runtime.match(/^(RUN|ENTRYPOINT|CMD) (?!\[)/gm)).toBeNull();
    expect(runtime).toContain('\nUSER 65532:65532\n');
  });

  it('receives the source revision as a build argument, because the build context has no git metadata', () => {
    const build = text.slice(0, text.lastIndexOf('\nFROM '));
    expect(build).toMatch(/^ARG SOURCE_REVISION=\n+RUN npm run build\b/m);
    for (const path of ['../../../README.md', '../../../.github/workflows/release.yml']) {
      const asked = readFileSync(new URL(path, import.meta.url), 'utf8');
      expect(asked).toMatch(/build-args?:? SOURCE_REVISION=/);
    }
  });

  it('compiles its code ahead of time with the options of its entrypoint', () => {
    const run = JSON.parse(all(/^RUN (\[.*\])$/gm)[0] ?? '[]') as readonly string[];
    const entrypoint = JSON.parse(all(/^ENTRYPOINT (\[.*\])$/gm)[0] ?? '[]') as readonly string[];
    expect(run).toEqual([...entrypoint, '--help']);
    expect(entrypoint.slice(1, -1)).toEqual(['--max-old-space-size-percentage=26', '--max-semi-space-size=4']);
  });
});
