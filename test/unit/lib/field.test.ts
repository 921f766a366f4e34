import { describe, expect, it } from '@jest/globals';
import { Field, FieldFault, type Wording } from '../../../src/lib/field.ts';

const WORDING: Wording = {
  text: 'a text',
  object: 'an object',
  problem: (expected, value) => `is ${JSON.stringify(value) ?? 'missing'}, not ${expected}`,
  error: (path, problem) => new FieldFault(path, problem),
};

const field = (value: unknown, options: Partial<Wording> = {}) => new Field(value, { ...WORDING, ...options });

describe('Field', () => {
  it('names the path of a value in lists and objects', () => {
    const port = field({ spec: { ports: [{ port: 80 }, { port: '443' }] } })
      .at('spec')
      .at('ports')
      .items()[1];
    expect(() => port?.at('port').count()).toThrow('spec.ports[1].port is "443", not an integer of at least 0');
  });

  it.each(['constructor', 'toString', '__proto__'])('does not return the inherited member %s', (name) => {
    expect(field({}).at(name).isMissing).toBe(true);
    expect(field({}).at('missing').at(name).given).toBeUndefined();
  });

  it('returns fields of such names that a document contains', () => {
    expect(field(JSON.parse('{"__proto__": "own"}')).at('__proto__').text()).toBe('own');
  });

  it.each([[undefined], [null]])('has neither keys nor items if it is %s', (value) => {
    expect(field(value).keys()).toEqual([]);
    expect(field(value).items()).toEqual([]);
    expect(() => field(value).required('a list')).toThrow('not a list');
  });

  it('treats null as a value if this is requested', () => {
    expect(() => field(null, { isNullGiven: true }).at('name')).toThrow('is null, not an object');
    expect(field(null, { isNullGiven: true }).given).toBeDefined();
  });

  it.each([
    ['text', 1],
    ['text', undefined],
    ['flag', 'true'],
    ['number', Number.NaN],
    ['number', '1'],
    ['count', -1],
    ['count', 1.5],
    ['object', []],
    ['items', {}],
    ['keys', 'text'],
  ] as const)('throws if %s is called on %p', (method, value) => {
    expect(() => field(value)[method]()).toThrow(FieldFault);
  });

  it('accepts only the listed values', () => {
    expect(field('Allow').oneOf('Allow', 'Deny')).toBe('Allow');
    expect(() => field('allow').oneOf('Allow', 'Deny')).toThrow('is "allow", not one of Allow, Deny');
  });
});
