import { describe, expect, it } from '@jest/globals';
import { declaredFor, readDeclarations, type TemplateConfigMap } from '../../../../src/state/devices/declared.ts';
import { instanceType, nodePool } from '../../engine/build.ts';

const configMap = (name: string, ...texts: readonly string[]): TemplateConfigMap => ({
  metadata: { name },
  data: Object.fromEntries(texts.map((text, at) => [`${at}.yaml`, text])),
});
const document = (driver: string, more = ''): string =>
  `driver: ${driver}\npools: [{name: gpus, devices: [{name: gpu-0}]}]\n${more}`;
const typed = (type: string): string =>
  `requirements: [{key: node.kubernetes.io/instance-type, operator: In, values: [${type}]}]\n`;
const POOL = nodePool('default', { labels: { team: 'ml' } });
const sourceFor = (maps: readonly TemplateConfigMap[], type = 'a', driver = 'd.example.com') =>
  declaredFor(readDeclarations(maps), POOL, instanceType(type)).get(driver)?.source;
const faultsOf = (text: string): readonly string[] =>
  readDeclarations([configMap('m', text)]).invalid.map((each) => each.text);

describe('a declared device', () => {
  it('belongs to the types and NodePools that satisfy the requirements', () => {
    const maps = [configMap('m', document('d.example.com', typed('a')))];
    expect(sourceFor(maps, 'a')).toBe('m/0.yaml#1');
    expect(sourceFor(maps, 'b')).toBeUndefined();
    const of = (value: string) =>
      sourceFor([
        configMap('m', document('d.example.com', `requirements: [{key: team, operator: In, values: [${value}]}]`)),
      ]);
    expect(of('ml')).toBe('m/0.yaml#1');
    expect(of('web')).toBeUndefined();
  });

  it('wins with the highest weight, then as the last by name of the ConfigMap and key', () => {
    const heavy = configMap('a', document('d.example.com', 'weight: 10'));
    const light = configMap('z', document('d.example.com', 'weight: 9'));
    expect(sourceFor([light, heavy])).toBe('a/0.yaml#1');
    const plain = (name: string) => configMap(name, document('d.example.com'), document('d.example.com'));
    expect(sourceFor([plain('z'), plain('a')])).toBe('z/1.yaml#1');
  });

  it('is read together with those of several drivers and documents', () => {
    const text = `${document('one.example.com')}---\n${document('two.example.com')}`;
    const found = declaredFor(readDeclarations([configMap('m', text)]), POOL, instanceType('a'));
    expect([...found.keys()].sort()).toEqual(['one.example.com', 'two.example.com']);
  });

  it('keeps runtime attributes with their groups', () => {
    const text = `driver: d.example.com
pools: [{name: gpus, devices: [{name: a}, {name: b}, {name: c}]}]
runtime: [{attribute: root, same: [[a, b], [c]]}, {attribute: uuid, unique: true}]`;
    const template = declaredFor(readDeclarations([configMap('m', text)]), POOL, instanceType('a')).get(
      'd.example.com',
    );
    expect(template?.runtime).toEqual([
      {
        attribute: 'root',
        areDisjoint: false,
        groups: new Map([
          ['a', '0'],
          ['b', '0'],
          ['c', '1'],
        ]),
      },
      { attribute: 'uuid', isUnique: true },
    ]);
  });

  it('may declare that a driver has no devices', () => {
    expect(sourceFor([configMap('m', 'driver: d.example.com\npools: []')])).toBe('m/0.yaml#1');
  });

  it('does not affect other documents if it is not valid', () => {
    const { devices, invalid } = readDeclarations([
      configMap('m', `${document('d.example.com')}---\ndriver: 1\n`, 'pools: ['),
    ]);
    expect(devices).toHaveLength(1);
    expect(invalid).toEqual([
      { configMap: 'm', text: '0.yaml, document 2: driver must be a string, not "1"' },
      { configMap: 'm', text: expect.stringMatching(/^1\.yaml, document 1: /) },
    ]);
  });

  it.each([
    ['text', 'must be an object'],
    ['driver: d.example.com', 'pools must be a list'],
    ['driver: D\npools: [{name: p, devices: [{name: a}]}]', 'driver: must be a DNS subdomain'],
    ['driver: d.example.com\npools: [{devices: []}]', 'pools[0].name must be a string'],
    ['driver: d.example.com\npools: [{name: p, devices: [{}]}]', 'pools[0].devices[0].name must be a string'],
    [
      'driver: d.example.com\npools: [{name: p, devices: [{name: a, allNodes: true}]}]',
      'pools[0].devices[0].allNodes is not allowed, because the device is part of its node',
    ],
    [
      'driver: d.example.com\npools: [{name: p, devices: [{name: a, capacity: {memory: {value: much}}}]}]',
      'an amount is not a quantity',
    ],
    ['driver: d.example.com\npools: [{name: p, devices: [{name: a, attributes: {x: {}}}]}]', 'exactly one value'],
    ['driver: d.example.com\npools: []\nweight: 10001', 'weight must be an integer from 1 to 10000'],
    ['driver: d.example.com\npools: []\nweight: 0', 'weight must be an integer from 1 to 10000'],
    [
      'driver: d.example.com\npools: []\nrequirements: [{key: a, operator: Is}]',
      'requirements[0].operator must be one of In',
    ],
    ['driver: d.example.com\npools: []\nruntime: [{attribute: a}]', 'runtime[0].same must be a list of lists'],
  ])('is refused with the field: %p', (text, fault) => {
    expect(faultsOf(text)).toEqual([expect.stringContaining(fault)]);
  });

  it('is limited in number and size', () => {
    const many = Array.from({ length: 257 }, () => document('d.example.com')).join('---\n');
    const { devices, invalid } = readDeclarations([configMap('m', many)]);
    expect(devices).toHaveLength(256);
    expect(invalid).toEqual([{ configMap: 'm', text: '0.yaml, document 257: there are more than 256 documents' }]);
    expect(faultsOf(`# ${'x'.repeat(2 ** 20)}`)).toEqual([
      '0.yaml, document 1: the documents have more than 1 MiB in all',
    ]);
    const wrong = { metadata: { name: 'm' }, data: { 'a.txt': '' } };
    expect(readDeclarations([wrong]).invalid).toEqual([
      { configMap: 'm', text: 'a.txt, document 1: the key must end in .yaml' },
    ]);
  });
});
