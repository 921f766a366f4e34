/** `karpenter convert` with every field of realistic files replaced by every other type. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parse, stringify } from 'yaml';
import { runConvert } from '../unit/cli/convert/run-convert.ts';

const FIXTURES = join(import.meta.dirname, '../unit/cli/convert/fixtures');
const ODD: readonly unknown[] = [null, '', 'x', -1, 1.5, true, [], [null], {}, { __proto__x: [{}] }, 'a'.repeat(5000)];

/** Generates copies of a value in which one part is replaced. The replacements rotate through the odd values. */
function* spoilt(value: unknown, odd: Generator<unknown>): Generator<unknown> {
  yield odd.next().value;
  if (typeof value !== 'object' || value === null) return;
  for (const key of Object.keys(value)) {
    const part = (value as Record<string, unknown>)[key];
    for (const each of spoilt(part, odd)) {
      const copy = (Array.isArray(value) ? [...value] : { ...value }) as Record<string, unknown>;
      copy[key] = each;
      yield copy;
    }
  }
}

function* endlessly(): Generator<unknown> {
  for (;;) yield* ODD;
}

const CASES: readonly (readonly [verb: string, file: string, beside: readonly string[]])[] = [
  ['iam', 'iam/alpha.json', []],
  ['eksctl', 'groups/cluster.yaml', []],
  ['managed-node-groups', 'groups/nodegroup.json', []],
  ['managed-node-groups', 'groups/launch-template.json', ['groups/nodegroup-template.json']],
  ['auto-scaling-groups', 'groups/auto-scaling-groups.json', ['groups/launch-template.json']],
  [
    'cluster-autoscaler',
    'groups/cluster-autoscaler.yaml',
    ['groups/auto-scaling-groups.json', 'groups/launch-template.json'],
  ],
];

describe('karpenter convert', () => {
  let folder: string;
  beforeAll(() => {
    folder = mkdtempSync(join(tmpdir(), 'hostile-convert-'));
  });
  afterAll(() => rmSync(folder, { recursive: true }));

  it.each(CASES)('handles any value with %s in every field of %s', async (verb, file, beside) => {
    const path = join(folder, 'input.json');
    const others = beside.flatMap((name) => ['-f', join(FIXTURES, name)]);
    let count = 0;
    for (const value of spoilt(parse(readFileSync(join(FIXTURES, file), 'utf8')), endlessly())) {
      writeFileSync(path, JSON.stringify(value) ?? 'null');
      const { errors, code } = await runConvert(verb, '-f', path, ...others);
      expect([0, 1]).toContain(code);
      expect(errors).not.toMatch(/^\s+at |TypeError|\[object Object\]|undefined/m);
      if (code === 1) expect(errors).toMatch(/^karpenter convert: ([^:]*input\.json|converted)/m);
      count++;
    }
    expect(count).toBeGreaterThan(20);
  });

  it('values handles any value in every field', async () => {
    const values = {
      settings: {
        aws: { clusterName: 'a', tags: { a: 'b' } },
        featureGates: { driftEnabled: true },
        clusterEndpoint: 'b',
      },
      controller: {
        image: { repository: 'public.ecr.aws/karpenter/controller' },
        nodeSelector: { a: 'b' },
        metrics: { port: 8000 },
      },
      logConfig: { logLevel: { controller: 'warn', webhook: 'error' }, outputPaths: ['stdout'] },
      webhook: { enabled: true },
      karpenter: { settings: { aws: { clusterName: 'c' } } },
    };
    const path = join(folder, 'values.yaml');
    for (const value of spoilt(values, endlessly())) {
      writeFileSync(path, stringify(value));
      const { errors, code } = await runConvert('values', '-f', path);
      expect([0, 1]).toContain(code);
      expect(errors).not.toMatch(/^\s+at |TypeError|\[object Object\]|undefined/m);
    }
  });

  it.each([
    ['deeply nested', `${'['.repeat(20_000)}${']'.repeat(20_000)}`],
    [
      'full of aliases',
      `a: &a [x,x,x,x,x,x,x,x,x]\n${Array.from({ length: 12 }, (_, i) => `${'bcdefghijklm'[i]}: &${'bcdefghijklm'[i]} [${Array(9).fill(`*${'abcdefghijkl'[i]}`)}]`).join('\n')}`,
    ],
    ['binary', '\u0000\u0001'],
  ])('rejects input that is %s', async (_, text) => {
    const path = join(folder, 'wrong.yaml');
    writeFileSync(path, text);
    for (const verb of [
      'values',
      'iam',
      'eksctl',
      'managed-node-groups',
      'auto-scaling-groups',
      'cluster-autoscaler',
    ]) {
      const { errors, code } = await runConvert(verb, '-f', path);
      if (verb !== 'values' || code !== 0) expect(errors).toContain(path);
      expect(errors).not.toMatch(/^\s+at /m);
    }
  });
});
