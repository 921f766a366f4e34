import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { customResourceDefinitions } from '../../../../src/api/crds.ts';
import { type Cause, structuralSchema } from '../../../../src/api/schema/structural.ts';

type Schema = Record<string, unknown>;

/** Returns a schema with this schema for `spec`. */
const withSpec = (spec: Schema): Schema => ({ type: 'object', properties: { spec } });
const faults = (spec: Schema, value: unknown, old?: unknown): readonly Cause[] =>
  structuralSchema(withSpec(spec)).validate({ spec: value }, old === undefined ? undefined : { spec: old });
const messages = (spec: Schema, value: unknown, old?: unknown): string[] =>
  faults(spec, value, old).map(({ field, message }) => `${field}: ${message}`);

const text = { type: 'string' };
const integer = { type: 'integer' };
const object = (properties: Schema, rest: Schema = {}): Schema => ({ type: 'object', properties, ...rest });
const rules = (...list: Schema[]): Schema => ({ 'x-kubernetes-validations': list });

describe('prune', () => {
  it('removes undeclared fields and returns their paths', () => {
    const spec = object({
      list: { type: 'array', items: object({ a: text }) },
      map: { type: 'object', additionalProperties: object({ a: text }) },
      open: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true, properties: { a: object({}) } },
    });
    const given = {
      apiVersion: 'v1',
      kind: 'K',
      metadata: { anything: 1 },
      spec: {
        open: { free: { deep: 1 }, a: { gone: 1 } },
        list: [{ a: 'x', b: 1 }],
        map: { k: { a: 'x', c: 2 } },
      },
      other: 1,
    };
    const { object: kept, unknown } = structuralSchema(withSpec(spec)).prune(given);
    expect(kept).toEqual({
      apiVersion: 'v1',
      kind: 'K',
      metadata: { anything: 1 },
      spec: { list: [{ a: 'x' }], map: { k: { a: 'x' } }, open: { free: { deep: 1 }, a: {} } },
    });
    expect(unknown).toEqual(['other', 'spec.list[0].b', 'spec.map.k.c', 'spec.open.a.gone']);
  });

  it('empties objects if the schema expects a list or a scalar', () => {
    const spec = object({ list: { type: 'array', items: object({ a: text }) }, plain: text });
    const given = { spec: { list: [[{ a: 'x' }]], plain: { b: 1 } } };
    expect(structuralSchema(withSpec(spec)).prune(given)).toEqual({
      object: { spec: { list: [[{}]], plain: {} } },
      unknown: ['spec.list[0][0].a', 'spec.plain.b'],
    });
  });

  it('keeps the metadata of embedded resources', () => {
    const spec = object({ pod: object({}, { 'x-kubernetes-embedded-resource': true }) });
    const given = { spec: { pod: { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p' }, extra: 1 } } };
    expect(structuralSchema(withSpec(spec)).prune(given).unknown).toEqual(['spec.pod.extra']);
  });
});

describe('applyDefaults', () => {
  const spec = object({
    a: { type: 'string', default: 'x' },
    nested: object({ b: { type: 'integer', default: 1 } }, { default: {} }),
    list: { type: 'array', items: object({ c: { type: 'boolean', default: false } }) },
    maybe: { type: 'string', nullable: true },
    plain: text,
  });
  const apply = (value: unknown): unknown => structuralSchema(withSpec(spec)).applyDefaults({ spec: value });

  it('sets missing fields at every depth', () => {
    expect(apply({ list: [{}] })).toEqual({ spec: { a: 'x', nested: { b: 1 }, list: [{ c: false }] } });
  });

  it('treats null as missing unless the schema allows null', () => {
    expect(apply({ a: null, plain: null, maybe: null })).toEqual({ spec: { a: 'x', nested: { b: 1 }, maybe: null } });
  });

  it('does not mutate the object and the schema', () => {
    const given = { spec: { list: [{}] } };
    const filled = structuralSchema(withSpec(spec)).applyDefaults<unknown>(given) as {
      spec: { nested: { b: number } };
    };
    filled.spec.nested.b = 5;
    expect(given).toEqual({ spec: { list: [{}] } });
    expect(apply({})).toEqual({ spec: { a: 'x', nested: { b: 1 } } });
  });

  it('is idempotent', () => {
    fc.assert(
      fc.property(fc.jsonValue(), (value) => {
        const once = apply(value);
        expect(structuralSchema(withSpec(spec)).applyDefaults(once)).toEqual(once);
      }),
    );
  });
});

describe('validate', () => {
  it.each<[string, Schema, unknown, string[]]>([
    ['a valid value', object({ a: text }), { a: 'x' }, []],
    ['a wrong type', integer, 'x', ['spec: Invalid value: "string": spec in body must be of type integer: "string"']],
    [
      'a fraction',
      integer,
      1.5,
      [
        'spec: Invalid value: "number": spec in body must be of type integer: "number"',
        '<nil>: Invalid value: "": Checked value must be of type integer (default format) in spec',
      ],
    ],
    [
      'a bound',
      { ...integer, maximum: 3 },
      4,
      ['spec: Invalid value: 4: spec in body should be less than or equal to 3'],
    ],
    [
      'an exclusive bound',
      { type: 'number', minimum: 1, exclusiveMinimum: true },
      1,
      ['spec: Invalid value: 1: spec in body should be greater than 1'],
    ],
    [
      'a multiple',
      { ...integer, multipleOf: 2 },
      3,
      ['spec: Invalid value: 3: spec in body should be a multiple of 2'],
    ],
    [
      'a list with too few items',
      { type: 'array', items: text, minItems: 1 },
      [],
      ['spec: Invalid value: 0: spec in body should have at least 1 items'],
    ],
    [
      'a date',
      { ...text, format: 'date-time' },
      '2026-02-30T00:00:00Z',
      ['spec: Invalid value: "2026-02-30T00:00:00Z": spec in body must be of type date-time: "2026-02-30T00:00:00Z"'],
    ],
    [
      'too many entries',
      { type: 'object', additionalProperties: text, maxProperties: 1 },
      { a: '', b: '' },
      ['spec: Too many: 2: must have at most 1 items'],
    ],
    [
      'a match of both schemas of oneOf',
      { oneOf: [{ required: ['a'] }, { required: ['b'] }], ...object({ a: text, b: text }) },
      { a: '', b: '' },
      ['<nil>: Invalid value: "": "spec" must validate one and only one schema (oneOf)'],
    ],
    [
      'a value that "not" excludes',
      { ...text, not: { enum: ['x'] } },
      'x',
      ['<nil>: Invalid value: "": "spec" must not validate the schema (not)'],
    ],
  ])('validates %s', (_what, spec, value, expected) => {
    const found = messages(spec, value).filter((message) => !message.includes('were not checked'));
    expect(found).toEqual(expected);
  });

  it('treats integers beyond 64 bits as fractions, and does not check the format of lists', () => {
    expect(messages(text, 1e19)).toContain(
      'spec: Invalid value: "number": spec in body must be of type string: "number"',
    );
    expect(messages({ ...text, format: 'date-time' }, ['x'])).toEqual([]);
  });

  it('reports errors within a map that is too large', () => {
    const spec = { type: 'object', additionalProperties: text, maxProperties: 1 };
    const fields = faults(spec, { a: 'x', b: 5 }).map(({ field }) => field);
    expect(fields).toEqual(['spec', 'spec.b', '<nil>']);
  });

  it('does not evaluate rules if the structure is invalid, and reports that', () => {
    const spec = object({ a: text }, { required: ['a'], ...rules({ rule: 'false', message: 'never' }) });
    expect(messages(spec, {})).toEqual([
      'spec.a: Required value',
      '<nil>: Invalid value: null: some validation rules were not checked because the object was invalid; correct the existing errors to complete validation',
    ]);
    expect(messages(spec, { a: 'x' })).toEqual(['spec: Invalid value: never']);
  });

  it('reports a repeated value of a set and a repeated key of a list once', () => {
    const set = { type: 'array', items: text, 'x-kubernetes-list-type': 'set' };
    expect(messages(set, ['a', 'b', 'a', 'a'])).toEqual(['spec[2]: Duplicate value: "a"']);
    const map = {
      type: 'array',
      items: object({ k: text }),
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
    };
    const notObjects = messages(map, [null, 'x', 'y']).filter((message) => message.includes('list-type map'));
    expect(notObjects).toEqual(['spec[1]: Invalid value: "x": must be an object for an array of list-type map']);
    expect(messages(map, [{ k: 'a' }, { k: 'a' }])).toEqual(['spec[1]: Duplicate value: {"k":"a"}']);
  });

  it('accepts invalid values that an update does not change', () => {
    const spec = object({ a: { ...text, maxLength: 1 }, b: text });
    expect(messages(spec, { a: 'long', b: 'new' }, { a: 'long', b: 'old' })).toEqual([]);
    expect(messages(spec, { a: 'longer', b: 'new' }, { a: 'long', b: 'old' })).not.toEqual([]);
  });

  it('validates replica counts at the paths of the scale subresource', () => {
    const schema = structuralSchema(withSpec(object({ replicas: integer })), {
      specReplicasPath: '.spec.replicas',
      statusReplicasPath: '.status.nodes',
    });
    expect(schema.validate({ spec: { replicas: -1 } })).toEqual([
      {
        field: '.spec.replicas',
        reason: 'FieldValueInvalid',
        message: 'Invalid value: -1: should be a non-negative integer',
      },
    ]);
    expect(schema.validate({ spec: { replicas: 2 ** 31 } })).toHaveLength(1);
    expect(schema.validate({ spec: {} })).toEqual([]);
    const named = (object: unknown): readonly string[] =>
      schema.validate(object).flatMap(({ field, message }) => (message.includes('accessor') ? [field, message] : []));
    const fault = (path: string, what: string): readonly string[] => [
      path,
      `Invalid value: 0: ${path} accessor error: ${what}, expected map[string]interface{}`,
    ];
    expect(named({ spec: 'many' })).toEqual(fault('.spec.replicas', 'many is of the type string'));
    expect(named({ spec: {}, status: 3 })).toEqual(fault('.status.nodes', '3 is of the type int64'));
  });

  it('omits the prefix of the status subresource in messages', () => {
    const schema = structuralSchema({ type: 'object', properties: { status: object({ a: integer }) } });
    expect(schema.validate({ status: { a: 'x' } }, undefined, 'status')[0]).toEqual({
      field: 'status.a',
      reason: 'FieldValueTypeInvalid',
      message: 'Invalid value: "string": a in body must be of type integer: "string"',
    });
  });
});

describe('a rule', () => {
  const holds = (rule: string, schema: Schema, value: unknown, old?: unknown): boolean =>
    faults({ ...schema, ...rules({ rule, message: 'broken' }) }, value, old).length === 0;

  it.each<[string, Schema, unknown, boolean]>([
    ["self.find('[0-9]+') == '12'", text, 'a12b3', true],
    ["self.findAll('[0-9]+').size() == 2", text, 'a12b3', true],
    ["self.split('@')[0] == 'a'", text, 'a@b@c', true],
    ["self.lowerAscii() == 'ab'", text, 'AB', true],
    ["duration(self) > duration('1h')", text, '90m', true],
    ["self < timestamp('2027-01-01T00:00:00Z')", { ...text, format: 'date-time' }, '2026-01-01T00:00:00Z', true],
    ['self == 0', integer, 0, true],
    ['self / 2 == 1', integer, 3, true],
    ['self / 2.0 == 1.5', { type: 'number' }, 3, true],
    ['int(self) == 5', text, '+5', true],
    ['has(self.a) && !has(self.b)', object({ a: text, b: text }), { a: '' }, true],
    ['self.__dash__x == 1', object({ '-x': integer }), { '-x': 1 }, true],
    ['self.__namespace__ == "n"', object({ namespace: text }), { namespace: 'n' }, true],
    ["self.all(k, k.startsWith('a'))", { type: 'object', additionalProperties: text }, { ab: 'x' }, true],
    ["'x' in self", { type: 'object', additionalProperties: text }, { x: '' }, true],
    ['self.exists_one(x, x == 1)', { type: 'array', items: integer }, [1, 1], false],
  ])('evaluates %s on %p of %p', (rule, schema, value, outcome) => {
    expect(holds(rule, schema, value)).toBe(outcome);
  });

  it.each([
    ['', '0x10', '1.5', 'a', '99999999999999999999'],
  ])('does not convert texts to integers that Go does not convert', (...texts) => {
    for (const value of texts) {
      expect(messages({ ...text, ...rules({ rule: 'int(self) >= 0', message: 'broken' }) }, value)).toEqual([
        "spec: Invalid value: \"string\": type conversion error from 'string' to 'int' evaluating rule: broken",
      ]);
    }
  });

  it('rejects with the evaluation error if a rule cannot be evaluated', () => {
    const spec = object({ a: integer }, rules({ rule: 'self.a > 1', message: 'broken' }));
    expect(messages(spec, {})).toEqual(['spec: Invalid value: "object": no such key: a evaluating rule: broken']);
    const list = { type: 'array', items: text, ...rules({ rule: "self[1] == 'x'", message: 'broken' }) };
    expect(messages(list, ['x'])).toEqual([
      'spec: Invalid value: "array": index out of bounds: 1 evaluating rule: broken',
    ]);
  });

  it('compares with the old state if it exists', () => {
    const spec = object({ a: { ...text, ...rules({ rule: 'self == oldSelf', message: 'immutable' }) } });
    expect(messages(spec, { a: 'new' })).toEqual([]);
    expect(messages(spec, { a: 'new' }, {})).toEqual([]);
    expect(messages(spec, { a: 'new' }, { a: 'old' })).toEqual(['spec.a: Invalid value: "new": immutable']);
  });

  it.each(['constructor', 'toString', 'hasOwnProperty'])('accepts the key %s of a map like any other key', (key) => {
    const immutable = { rule: 'self == oldSelf', message: 'immutable' };
    const spec = object({ m: { type: 'object', additionalProperties: text } }, rules(immutable));
    expect(messages(spec, { m: { [key]: 'a' } }, { m: { [key]: 'a', b: 'c' } })).toEqual([
      'spec: Invalid value: immutable',
    ]);
    const named = {
      type: 'object',
      additionalProperties: text,
      ...rules({ rule: `self.all(k, k != '${key}')`, message: 'no' }),
    };
    expect(messages(named, { [key]: 'a' })).toEqual(['spec: Invalid value: no']);
  });

  it('finds the old state of a list item by its key', () => {
    const spec = {
      type: 'array',
      'x-kubernetes-list-type': 'map',
      'x-kubernetes-list-map-keys': ['k'],
      items: object({ k: text, v: integer }, rules({ rule: 'self.v >= oldSelf.v', message: 'must not shrink' })),
    };
    const old = [
      { k: 'a', v: 1 },
      { k: 'b', v: 5 },
    ];
    expect(
      messages(
        spec,
        [
          { k: 'b', v: 4 },
          { k: 'a', v: 2 },
        ],
        old,
      ),
    ).toEqual(['spec[0]: Invalid value: must not shrink']);
  });

  it('provides an optional old state to rules with optionalOldSelf', () => {
    const rule = { rule: '!oldSelf.hasValue() || oldSelf.value() <= self', optionalOldSelf: true, message: 'shrinks' };
    const spec = { ...integer, ...rules(rule) };
    expect(messages(spec, 1)).toEqual([]);
    expect(messages(spec, 1, 2)).toEqual(['spec: Invalid value: 1: shrinks']);
  });

  it('uses messageExpression, fieldPath and reason of the rule', () => {
    const rule = {
      rule: 'self.a <= 3',
      messageExpression: "'a is ' + string(self.a)",
      message: 'plain',
      fieldPath: '.a',
      reason: 'FieldValueForbidden',
    };
    expect(faults(object({ a: integer }, rules(rule)), { a: 4 })).toEqual([
      { field: 'spec.a', reason: 'FieldValueForbidden', message: 'Forbidden: a is 4' },
    ]);
  });

  it('prints the rule if it has no message', () => {
    expect(messages({ ...integer, ...rules({ rule: 'self > 3' }) }, 1)).toEqual([
      'spec: Invalid value: 1: failed rule: self > 3',
    ]);
  });

  it('skips and counts rules that call unavailable functions', () => {
    const unknown = rules({ rule: 'isIP(self)' }, { rule: "quantity(self).sign() == 1 && self != ''" });
    const schema = {
      type: 'object',
      properties: { a: { ...text, ...unknown }, b: { ...text, ...rules({ rule: "self == 'x'" }) } },
    };
    const { unknownRules, validate } = structuralSchema(schema);
    expect(unknownRules).toBe(2);
    expect(validate({ a: '' })).toEqual([]);
    expect(validate({ a: '', b: 'y' })).toHaveLength(1);
  });

  it('evaluates every rule of the CRDs', () => {
    for (const { spec } of customResourceDefinitions())
      for (const { schema } of spec.versions) expect(structuralSchema(schema.openAPIV3Schema).unknownRules).toBe(0);
  });

  it('names a rule that is not a valid expression', () => {
    expect(() => faults({ ...integer, ...rules({ rule: 'self >' }) }, 1)).toThrow(/Cannot compile rule "self >"/);
  });
});
