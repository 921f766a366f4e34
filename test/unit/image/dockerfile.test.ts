import { readFileSync } from 'node:fs';
import { describe, expect, it } from '@jest/globals';

const text = readFileSync(new URL('../../../Dockerfile', import.meta.url), 'utf8');
const all = (pattern: RegExp): readonly string[] => [...text.matchAll(pattern)].map(([, found = '']) => found);

describe('the image', () => {
  it('is built from bases that are pinned by digest', () => {
    const bases = new Map(all(/^ARG (\w+_IMAGE=\S+)$/gm).map((line) => line.split(/=(.*)/s) as [string, string]));
    expect([...bases.keys()]).toEqual(['BUILD_IMAGE', 'RUNTIME_IMAGE']);
    for (const base of bases.values()) expect(base).toMatch(/^[\w./-]+:[\w.-]+@sha256:[0-9a-f]{64}$/);
    expect(all(/^FROM \$\{(\w+)\}/gm)).toEqual([...bases.keys()]);
    expect(bases.get('RUNTIME_IMAGE')).toMatch(/distroless\/nodejs24-debian12:nonroot@/);
  });

  it('needs no shell where there is none, and runs as nobody', () => {
    const runtime = text.slice(text.lastIndexOf('\nFROM '));
    expect(runtime.match(/^(RUN|ENTRYPOINT|CMD) (?!\[)/gm)).toBeNull();
    expect(runtime).toContain('\nUSER 65532:65532\n');
  });

  it('knows the revision that it is built from, of which the sources that reach it say nothing', () => {
    const build = text.slice(0, text.lastIndexOf('\nFROM '));
    expect(build).toMatch(/^ARG SOURCE_REVISION=\n+RUN npm run build\b/m);
    for (const path of ['../../../README.md', '../../../.github/workflows/release.yml']) {
      const asked = readFileSync(new URL(path, import.meta.url), 'utf8');
      expect(asked).toMatch(/build-args?:? SOURCE_REVISION=/);
    }
  });

  it('is compiled ahead with the options that it runs with', () => {
    const run = JSON.parse(all(/^RUN (\[.*\])$/gm)[0] ?? '[]') as readonly string[];
    const entrypoint = JSON.parse(all(/^ENTRYPOINT (\[.*\])$/gm)[0] ?? '[]') as readonly string[];
    expect(run).toEqual([...entrypoint, '--help']);
    expect(entrypoint.slice(1, -1)).toEqual(['--max-old-space-size-percentage=26', '--max-semi-space-size=4']);
  });
});
