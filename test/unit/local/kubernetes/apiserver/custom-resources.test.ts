import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { customResourceDefinitions } from '#api/schema';
import { type Body, eventually, type TestServer, testServer, WIDGETS, widget, widgetDefinition } from './client.ts';

const DEFINITIONS = '/apis/apiextensions.k8s.io/v1/customresourcedefinitions';

describe('a custom resource of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
    await api.ok('POST', DEFINITIONS, widgetDefinition);
  });
  afterAll(() => api.server.close());

  it('is served as soon as its definition exists', async () => {
    const definition = await api.ok('GET', `${DEFINITIONS}/widgets.example.com`);
    expect(definition.status.conditions).toContainEqual(
      expect.objectContaining({ type: 'Established', status: 'True' }),
    );
    expect(await api.ok('GET', '/apis/example.com/v1')).toMatchObject({
      resources: [
        { name: 'widgets', kind: 'Widget', shortNames: ['wd'], categories: ['toys'] },
        { name: 'widgets/scale' },
        { name: 'widgets/status' },
      ],
    });
  });

  it('gets defaults, and loses unknown fields with a warning', async () => {
    const { body, headers } = await api.call('POST', WIDGETS, widget('plain', { color: 'blue', bogus: 1 }));
    expect(body.spec).toEqual({ color: 'blue', size: 1 });
    expect(headers.get('warning')).toContain('unknown field');
  });

  it.each([
    {
      spec: { color: 'green' },
      message: expect.stringContaining('spec.color: Unsupported value: "green": supported values: "red", "blue"'),
      field: 'spec.color',
    },
    {
      spec: {},
      message: expect.stringMatching(/^Widget.example.com "w" is invalid: \[?spec.color: Required value/),
      field: 'spec.color',
    },
    { spec: { color: 'red', size: 7 }, message: expect.stringContaining('red ones are small'), field: 'spec' },
    {
      spec: { color: 'blue', size: 70 },
      message: expect.stringContaining('spec.size in body should be less than or equal to 10'),
      field: 'spec.size',
    },
  ])('rejects $spec', async ({ spec, message, field }) => {
    const answer = await api.call('POST', WIDGETS, widget('w', spec));
    expect(answer).toMatchObject({
      status: 422,
      body: {
        reason: 'Invalid',
        message,
        details: { kind: 'Widget', causes: expect.arrayContaining([expect.objectContaining({ field })]) },
      },
    });
  });

  it.each([
    {
      what: 'a missing name before rules are evaluated',
      metadata: { name: '' },
      causes: [['metadata.name', 'Required value: name or generateName is required']],
    },
    {
      what: 'an invalid generateName',
      metadata: { name: 'w', generateName: 'Bad_' },
      causes: [
        ['metadata.generateName', expect.stringMatching(/^Invalid value: "Bad_": a lowercase RFC 1123/)],
        ['spec', expect.stringContaining('red ones are small')],
      ],
    },
    {
      what: 'invalid owner references',
      metadata: { name: 'w', ownerReferences: [{ apiVersion: 'v1', kind: 'Event', name: '', uid: 'u' }, {}] },
      causes: [
        ['metadata.ownerReferences.name', 'Invalid value: "": must not be empty'],
        ['metadata.ownerReferences', expect.stringContaining('/v1, Kind=Event is disallowed from being an owner')],
        ['metadata.ownerReferences.apiVersion', 'Invalid value: "": version must not be empty'],
        ...['kind', 'name', 'uid'].map((field) => [
          `metadata.ownerReferences.${field}`,
          'Invalid value: "": must not be empty',
        ]),
        ['spec', expect.stringContaining('red ones are small')],
      ],
    },
  ])('rejects $what', async ({ metadata, causes }) => {
    const answer = await api.call('POST', WIDGETS, { ...widget('w', { color: 'red', size: 7 }), metadata });
    expect(answer.status).toBe(422);
    const told: readonly { field: string; message: string }[] = answer.body.details.causes;
    const named = told.filter(({ message }) => !message.includes('some validation rules were not checked'));
    expect(named.map(({ field, message }) => [field, message])).toEqual(causes);
  });

  it('rejects resourceVersion on creation, except on a dry run', async () => {
    const versioned = { ...widget('w', { color: 'blue' }), metadata: { name: 'w', resourceVersion: '5' } };
    expect((await api.call('POST', `${WIDGETS}?dryRun=All`, versioned)).status).toBe(201);
    const answer = await api.call('POST', WIDGETS, versioned);
    expect(answer.body.message).toBe('resourceVersion should not be set on objects to be created');
  });

  it('rejects unknown fields under Strict', async () => {
    const answer = await api.call(
      'POST',
      `${WIDGETS}?fieldValidation=Strict`,
      widget('w', { color: 'blue', bogus: 1 }),
    );
    expect(answer).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('strict decoding error: unknown field "spec.bogus"') },
    });
  });

  it('requires a resourceVersion for a replacement', async () => {
    await api.ok('POST', WIDGETS, widget('replaced'));
    const answer = await api.call('PUT', `${WIDGETS}/replaced`, widget('replaced'));
    expect(answer).toMatchObject({
      status: 422,
      body: { details: { causes: [{ field: 'metadata.resourceVersion' }] } },
    });
  });

  it('changes status only through its subresource, and counts generations for other fields', async () => {
    const made = await api.ok('POST', WIDGETS, { ...widget('split'), status: { phase: 'early' } });
    expect(made.status).toBeUndefined();
    const patch = { spec: { size: 9 }, metadata: { labels: { a: 'b' } }, status: { phase: 'late' } };
    const { body } = await api.patch('merge-patch+json', `${WIDGETS}/split/status`, patch);
    expect([body.spec.size, body.metadata.labels, body.status, body.metadata.generation]).toEqual([
      1,
      undefined,
      { phase: 'late' },
      1,
    ]);
  });

  it('can be scaled', async () => {
    await api.ok('POST', WIDGETS, widget('scaled'));
    const { body } = await api.patch('merge-patch+json', `${WIDGETS}/scaled/scale`, { spec: { replicas: 4 } });
    expect(body).toMatchObject({ kind: 'Scale', spec: { replicas: 4 }, status: { replicas: 0 } });
    expect((await api.ok('GET', `${WIDGETS}/scaled`)).spec.size).toBe(4);
  });

  it('merges applied list items by their map key', async () => {
    const apply = (manager: string, parts: object[]) =>
      api.call('PATCH', `${WIDGETS}/applied?fieldManager=${manager}`, widget('applied', { color: 'blue', parts }), {
        'content-type': 'application/apply-patch+yaml',
      });
    await apply('one', [{ name: 'a', count: 1 }]);
    const { body } = await apply('two', [{ name: 'b', count: 2 }]);
    expect(body.spec.parts).toEqual([
      { name: 'a', count: 1 },
      { name: 'b', count: 2 },
    ]);
    expect((await apply('two', [])).body.spec.parts).toEqual([{ name: 'a', count: 1 }]);
  });

  it('has printer columns', async () => {
    await api.patch('merge-patch+json', `${WIDGETS}/plain/status`, {
      status: { conditions: [{ type: 'Ready', status: 'True' }] },
    });
    const table = await api.ok('GET', `${WIDGETS}/plain`, undefined, {
      accept: 'application/json;as=Table;v=v1;g=meta.k8s.io',
    });
    expect(table.columnDefinitions.map(({ name }: { name: string }) => name)).toEqual(['Name', 'Size', 'Ready', 'Age']);
    expect(table.rows[0].cells).toEqual(['plain', 1, 'True', '0s']);
  });

  it('is accepted by each CRD of this project', async () => {
    for (const definition of customResourceDefinitions()) api.server.install(definition);
    expect((await api.ok('GET', '/apis/karpenter.sh/v1/nodepools')).kind).toBe('NodePoolList');
    for (const definition of customResourceDefinitions()) api.server.install(definition);
  });

  it('warns about rules that the server does not evaluate, and stores objects that violate them', async () => {
    const addresses = structuredClone(widgetDefinition) as unknown as Body;
    addresses.metadata.name = 'hosts.example.com';
    addresses.spec.names = { plural: 'hosts', singular: 'host', kind: 'Host', listKind: 'HostList' };
    addresses.spec.versions[0].schema.openAPIV3Schema['x-kubernetes-validations'] = [{ rule: 'isIP(self.spec.color)' }];
    await api.ok('POST', DEFINITIONS, addresses);
    const host = { ...widget('one', { color: 'blue' }), kind: 'Host' };
    const answer = await api.call('POST', WIDGETS.replace('widgets', 'hosts'), host);
    expect(answer.status).toBe(201);
    expect(answer.headers.get('warning')).toContain('does not evaluate 1 of the rules of hosts.example.com');
  });

  it.each([
    { deprecationWarning: 'use lamps', warning: 'use lamps' },
    { deprecationWarning: undefined, warning: 'example.com/v1beta1 Lamp is deprecated; use example.com/v1 Lamp' },
  ])('warns about a deprecated version: $warning', async ({ deprecationWarning, warning }) => {
    const lamps = structuredClone(widgetDefinition) as unknown as Body;
    lamps.metadata.name = 'lamps.example.com';
    lamps.spec.names = { plural: 'lamps', singular: 'lamp', kind: 'Lamp', listKind: 'LampList' };
    const [stable] = lamps.spec.versions;
    const old = { ...stable, storage: false, deprecated: true };
    lamps.spec.versions = [
      { ...old, name: 'v1alpha1' },
      stable,
      { ...old, name: 'v1beta1', ...(deprecationWarning !== undefined && { deprecationWarning }) },
    ];
    api.server.install(lamps as Parameters<typeof api.server.install>[0]);
    const path = WIDGETS.replace('widgets', 'lamps');
    expect((await api.call('GET', path.replace('/v1/', '/v1beta1/'))).headers.get('warning')).toBe(
      `299 - ${JSON.stringify(warning)}`,
    );
    expect((await api.call('GET', path)).headers.get('warning')).toBeNull();
  });

  it('is deleted with its definition', async () => {
    await api.patch('merge-patch+json', `${WIDGETS}/plain`, { metadata: { finalizers: ['example.com/hold'] } });
    await api.ok('DELETE', `${DEFINITIONS}/widgets.example.com`);
    const left = await eventually(
      () => api.ok('GET', WIDGETS),
      ({ items }) => items.length === 1,
    );
    expect(left.items[0].metadata).toMatchObject({ name: 'plain', deletionTimestamp: expect.any(String) });
    await api.patch('merge-patch+json', `${WIDGETS}/plain`, { metadata: { finalizers: null } });
    await eventually(
      () => api.call('GET', WIDGETS),
      ({ status }) => status === 404,
    );
  });
});
