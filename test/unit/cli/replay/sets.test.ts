/** Sets of settings from `--compare` and `--sets`, and their differences. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { parseManifests } from '../../../../src/cli/objects/read.ts';
import { type SetsOptions, setsOf, wordsOf } from '../../../../src/cli/replay/sets.ts';

const POOL = `
apiVersion: karpenter.sh/v1
kind: NodePool
metadata: { name: web }
spec:
  template:
    spec:
      nodeClassRef: { group: karpenter.k8s.aws, kind: EC2NodeClass, name: plain }
      requirements:
        - { key: karpenter.sh/capacity-type, operator: In, values: [spot] }
  disruption: { consolidateAfter: 0s }
`;
const CLASS = `
---
apiVersion: karpenter.k8s.aws/v1
kind: EC2NodeClass
metadata: { name: plain, uid: abc, resourceVersion: '7' }
spec:
  role: nodes
  amiSelectorTerms: [{ alias: al2023@latest }]
  subnetSelectorTerms: [{ tags: { a: b } }]
  securityGroupSelectorTerms: [{ tags: { a: b } }]
status: { conditions: [] }
`;
const NOTHING = { nodePools: new Set<string>(), nodeClasses: new Set<string>() };

let folder: string;
beforeAll(() => {
  folder = mkdtempSync(join(tmpdir(), 'replay-sets-'));
});
afterAll(() => rmSync(folder, { recursive: true }));

const read = (options: Partial<SetsOptions> = {}, manifests = POOL + CLASS) =>
  setsOf({ manifests: parseManifests(manifests, 'now.yaml'), source: 'now.yaml', beginning: NOTHING, ...options });

/** Writes a file of sets. Error messages do not contain the folder. */
function file(text: string, others: Readonly<Record<string, string>> = {}) {
  writeFileSync(join(folder, 'sets.yaml'), text);
  for (const [name, content] of Object.entries(others)) writeFileSync(join(folder, name), content);
  try {
    return read({ sets: join(folder, 'sets.yaml') });
  } catch (error) {
    throw new Error((error as Error).message.replaceAll(`${folder}/`, ''));
  }
}

describe('an argument line', () => {
  it.each([
    ['', []],
    ['  --a=1   --b ', ['--a=1', '--b']],
    [`--a='x y' --b="c d"e`, ['--a=x y', '--b=c de']],
    [`a\\ b "q\\"r\\z" ''`, ['a b', 'q"r\\z', '']],
    ["'a\\'", ['a\\']],
  ])('splits %j into %j', (line, words) => {
    expect(wordsOf(line, 'it')).toEqual(words);
  });

  it('must have closed quotes', () => {
    expect(() => wordsOf(`--a="b`, '--compare x')).toThrow('--compare x: unclosed quote "');
    expect(() => wordsOf('--a=b\\', '--compare x')).toThrow(
      '--compare x: backslash at the end; write \\\\ for a backslash',
    );
  });
});

describe('the list of sets', () => {
  it('is one with the defaults unless others are given', () => {
    const { sets, notes } = read();
    expect(sets.map(({ name, args, says }) => ({ name, args, says }))).toEqual([
      { name: 'default', args: [], says: [] },
    ]);
    expect(notes).toEqual([]);
  });

  it('has objects with the defaults of the API server, without status and server-side metadata', () => {
    const [pool, nodeClass] = read().sets[0]?.objects ?? [];
    expect(pool).toMatchObject({ spec: { disruption: { consolidationPolicy: 'WhenEmptyOrUnderutilized' } } });
    expect(nodeClass?.metadata).toEqual({ name: 'plain' });
    expect(nodeClass).not.toHaveProperty('status');
  });

  it('compares a named set with the defaults, and several named sets with each other', () => {
    const names = (...compare: readonly string[]) => read({ compare }).sets.map(({ name }) => name);
    expect(names('compatible=--packing=compatible')).toEqual(['default', 'compatible']);
    expect(names('default=--packing=compatible')).toEqual(['default']);
    expect(names('compatible=--packing=compatible', 'ours=')).toEqual(['compatible', 'ours']);
    expect(read({ compare: ["a=--packing=compatible --node-hourly-fee '0'"] }).sets[1]).toMatchObject({
      args: ['--packing=compatible', '--node-hourly-fee', '0'],
      says: ['--packing=compatible', '--node-hourly-fee', '0'],
    });
  });

  it('uses the price book unless a set names another', () => {
    const { sets } = read({ priceBook: 'book.yaml', compare: ['a=', 'b=--price-book=other.yaml'] });
    expect(sets.map(({ args }) => args)).toEqual([['--price-book=book.yaml'], ['--price-book=other.yaml']]);
  });

  it.each([
    ['x', '--compare "x": expected NAME=ARGS'],
    ['--packing=compatible', '--compare "--packing=compatible": expected NAME=ARGS'],
    [
      'x=--packng=compatible',
      '--compare "x=--packng=compatible": flag provided but not defined: -packng; did you mean "--packing"?',
    ],
    ['x=--packing=odd', 'invalid PACKING "odd", must be cheapest or compatible'],
    ['x=--help', '--help is not a setting'],
    ['x=compatible', 'unexpected argument "compatible"'],
  ])('rejects --compare %s', (compare, message) => {
    expect(() => read({ compare: [compare] })).toThrow(message);
  });

  it('has unique names', () => {
    expect(() => read({ compare: ['a=', 'a=--packing=compatible'] })).toThrow(
      '--compare "a=--packing=compatible": the name "a" is already used by another set; choose another name',
    );
  });

  it('reports arguments without an effect', () => {
    expect(read({ compare: ['a=--feature-gates=SpotToSpotConsolidaton=true'] }).notes.join()).toMatch(
      /--compare "a=.*SpotToSpotConsolidaton.*SpotToSpotConsolidation/,
    );
  });
});

describe('a NodePool', () => {
  it('requires its NodeClass', () => {
    expect(() => read({}, POOL)).toThrow(
      'now.yaml, document 1, NodePool web: spec.template.spec.nodeClassRef.name: EC2NodeClass "plain" not found; add its manifest with -f',
    );
    expect(read({ beginning: { ...NOTHING, nodeClasses: new Set(['plain']) } }, POOL).sets).toHaveLength(1);
  });

  it('must exist in the manifests or in the trace', () => {
    expect(() => read({}, CLASS)).toThrow('now.yaml: no NodePool found');
    expect(read({ beginning: { ...NOTHING, nodePools: new Set(['web']) } }, CLASS).sets).toHaveLength(1);
  });

  it('must be valid for the API server', () => {
    expect(() => read({}, POOL.replace('0s', 'soon') + CLASS)).toThrow(
      /^now.yaml, document 1, NodePool web: spec.disruption.consolidateAfter: /,
    );
  });
});

it('skips Nodes and pods that the replay creates itself', () => {
  const dump = `
---
{apiVersion: v1, kind: Node, metadata: {name: a}}
---
{apiVersion: v1, kind: Pod, metadata: {name: a, ownerReferences: [{kind: ReplicaSet, name: x, apiVersion: apps/v1, uid: u}]}, spec: {containers: []}}
---
{apiVersion: v1, kind: Pod, metadata: {name: b}, spec: {nodeName: a, containers: []}}
---
{apiVersion: v1, kind: Pod, metadata: {name: c}, spec: {containers: []}}`;
  const { sets, notes } = read({}, POOL + CLASS + dump);
  expect(sets[0]?.objects.map(({ kind, metadata }) => `${kind} ${metadata.name}`)).toEqual([
    'NodePool web',
    'EC2NodeClass plain',
    'Pod c',
  ]);
  expect(notes).toEqual(['3 objects of kinds that the replay creates itself are ignored: Node, Pod']);
});

const EXAMPLES = join(import.meta.dirname, '../../../../examples/replay');

describe('a file of sets', () => {
  it.each([
    ['capacity-types.yaml', 3],
    ['consolidate-after.yaml', 3],
    ['karpenters-way.yaml', 3],
    ['prices.yaml', 6],
  ])('is in the examples: %s', (name, count) => {
    const manifests = readFileSync(join(EXAMPLES, 'nodepool.yaml'), 'utf8');
    expect(read({ sets: join(EXAMPLES, name) }, manifests).sets).toHaveLength(count);
  });

  it('has arguments, objects and patches', () => {
    const { sets } = file(
      `
- name: spot
- name: on-demand
  args: [--consolidation=compatible]
  objects: [more.yaml]
  patch:
    - kind: NodePool
      name: web
      patch:
        spec:
          disruption: { consolidateAfter: 5m }
          template: { spec: { requirements: [{ key: karpenter.sh/capacity-type, operator: In, values: [on-demand] }] } }
`,
      { 'more.yaml': '{apiVersion: v1, kind: ConfigMap, metadata: {name: more}}' },
    );
    expect(sets.map(({ name, says }) => ({ name, says }))).toEqual([
      { name: 'spot', says: [] },
      {
        name: 'on-demand',
        says: [
          '--consolidation=compatible',
          'NodePool web: spec.template.spec.requirements[karpenter.sh/capacity-type].values ["spot"] → ["on-demand"]',
          'NodePool web: spec.disruption.consolidateAfter 0s → 5m',
          'ConfigMap more: added',
        ],
      },
    ]);
    expect(sets[0]?.objects[0]).toMatchObject({ spec: { disruption: { consolidateAfter: '0s' } } });
    expect(sets[1]?.objects[0]).toMatchObject({ spec: { disruption: { consolidateAfter: '5m' } } });
  });

  it('patches every object of a kind with *', () => {
    const { sets } = file('[{name: a, patch: [{kind: NodePool, name: "*", patch: {spec: {weight: 5}}}]}]');
    expect(sets[0]?.says).toEqual(['NodePool web: spec.weight unset → 5']);
  });

  it.each([
    ['name: a', 'sets.yaml: sets: must be a list of sets, each with a name'],
    ['[]', 'sets.yaml: sets: is empty; add at least one set'],
    ['- {', 'sets.yaml: not valid YAML: '],
    ['- args: []', 'sets.yaml: sets[0].name: is required'],
    ['- {name: a, arg: []}', 'sets.yaml: sets[0].arg: unknown field; did you mean "args"?'],
    ['- {name: a, zz: []}', 'sets.yaml: sets[0].zz: unknown field; use one of name, args, objects, patch'],
    ['- {name: a, args: --b}', 'sets.yaml: sets[0].args: must be a list'],
    ['- {name: a, args: [{}]}', 'sets.yaml: sets[0].args[0]: must be a string, not {}'],
    ['- {name: a, args: [--packng=x]}', 'sets.yaml, set "a": flag provided but not defined: -packng'],
    ['- {name: a, objects: [none.yaml]}', 'none.yaml: no such file or folder'],
    ['- {name: a, patch: [{kind: NodePool, name: web}]}', 'sets.yaml: sets[0].patch[0].patch: is required'],
    [
      '- {name: a, patch: [{kind: NodePool, name: wed, patch: {}}]}',
      'sets.yaml, set "a", patch[0]: NodePool "wed" not found in the manifests; existing names: web',
    ],
    [
      '- {name: a, patch: [{kind: NodePool, name: web, patch: {metadata: {name: x}}}]}',
      'sets.yaml, set "a", patch[0]: patch: must not change apiVersion, kind or metadata.name',
    ],
    [
      '- {name: a, patch: [{kind: NodePool, name: web, patch: {spec: {weight: many}}}]}',
      'sets.yaml, set "a", patch[0], NodePool web: spec.weight: ',
    ],
    ['- {name: a}\n- {name: a}', 'sets.yaml, set "a": the name "a" is already used by another set'],
  ])('rejects %s', (text, message) => {
    expect(() => file(text)).toThrow(message);
  });
});
