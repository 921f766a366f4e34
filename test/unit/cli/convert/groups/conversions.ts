/** Conversions of node groups, from files that a test writes or that tools have printed. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, expect } from '@jest/globals';
import type { EC2NodeClass, NodePool } from '#api/objects';
import { nodePoolErrors } from '#api/validation';
import { type Manifest, parseManifests } from '../../../../../src/cli/objects/read.ts';
import { validateStored } from '../../../../../src/cli/objects/stored.ts';
import { runConvert } from '../run-convert.ts';

const FIXTURES = join(import.meta.dirname, '../fixtures/groups');
export const fixture = (name: string): string => join(FIXTURES, name);
export const TEMPLATE = fixture('launch-template.json');

export const files = (...paths: readonly string[]): readonly string[] => paths.flatMap((path) => ['-f', path]);

interface Converted {
  readonly output: string;
  readonly errors: string;
  readonly code: number;
  readonly pools: readonly NodePool[];
  readonly classes: readonly EC2NodeClass[];
}

export interface Conversions {
  /** Returns the path of the file. */
  readonly write: (name: string, value: unknown) => string;
  /** Runs a conversion with results that the API server and the operator accept unchanged. */
  readonly converted: (...args: readonly string[]) => Promise<Converted>;
}

/** Creates a folder that exists while the tests of the calling file run. */
export function conversions(): Conversions {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'convert-groups-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));
  return {
    write(name, value) {
      const path = join(folder, name);
      writeFileSync(path, typeof value === 'string' ? value : JSON.stringify(value));
      return path;
    },
    async converted(...args) {
      const { output, errors, code } = await runConvert(...args);
      const manifests: readonly Manifest[] = parseManifests(output, 'result');
      const kept = manifests.map((manifest) => validateStored(manifest));
      const pools = kept.filter(({ kind }) => kind === 'NodePool') as NodePool[];
      const classes = kept.filter(({ kind }) => kind === 'EC2NodeClass') as EC2NodeClass[];
      expect(pools.flatMap(nodePoolErrors)).toEqual([]);
      const names = classes.map(({ metadata }) => metadata.name);
      for (const { spec } of pools) expect(names).toContain(spec.template.spec.nodeClassRef.name);
      return { output, errors: errors.replaceAll(FIXTURES, '').replaceAll(folder, ''), code, pools, classes };
    },
  };
}
