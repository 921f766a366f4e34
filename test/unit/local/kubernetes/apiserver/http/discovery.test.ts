import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { type Body, deployment, PODS, pod, type TestServer, testServer } from '../client.ts';

const TABLE = { accept: 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json' };

describe('a document or table of the local API server', () => {
  let api: TestServer;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());

  it.each(['/healthz', '/livez', '/readyz'])('returns %s', async (path) => {
    expect((await api.call('GET', path)).body).toBe('ok');
  });

  it('lists groups and resources', async () => {
    const { groups } = await api.ok('GET', '/apis');
    expect(groups.find(({ name }: Body) => name === 'apps').preferredVersion.groupVersion).toBe('apps/v1');
    const { resources } = await api.ok('GET', '/api/v1');
    expect(resources).toContainEqual(
      expect.objectContaining({ name: 'pods/eviction', group: 'policy', version: 'v1', kind: 'Eviction' }),
    );
  });

  it('returns aggregated discovery on request', async () => {
    const accept = 'application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList,application/json';
    const { body, headers } = await api.call('GET', '/apis', undefined, { accept });
    expect(headers.get('content-type')).toContain('as=APIGroupDiscoveryList');
    const apps = body.items.find(({ metadata }: Body) => metadata.name === 'apps');
    expect(apps.versions[0].resources).toContainEqual(
      expect.objectContaining({
        resource: 'deployments',
        scope: 'Namespaced',
        singularResource: 'deployment',
      }),
    );
  });

  it('documents the parameters of patches, so that kubectl validates on the server', async () => {
    const { paths } = await api.ok('GET', '/openapi/v3');
    const document = await api.ok('GET', paths['apis/apps/v1'].serverRelativeURL);
    const { patch } = document.paths['/apis/apps/v1/namespaces/{namespace}/deployments/{name}'];
    expect(patch['x-kubernetes-group-version-kind']).toEqual({ group: 'apps', version: 'v1', kind: 'Deployment' });
    expect(patch.parameters.map(({ name }: Body) => name)).toContain('fieldValidation');
  });

  it.each([
    ['api/v1', 'io.k8s.api.v1.Probe', 'failureThreshold', { type: 'integer' }],
    ['apis/apps/v1', 'io.k8s.api.v1.Deployment', 'spec', { $ref: '#/components/schemas/io.k8s.api.v1.DeploymentSpec' }],
  ])('documents the field types of built-in kinds: %s %s.%s', async (name, model, field, schema) => {
    const { components } = await api.ok('GET', `/openapi/v3/${name}`);
    expect(components.schemas[model].properties[field]).toEqual(schema);
  });

  it('has an OpenAPI version 2 document in protobuf, which kubectl uses for kinds that are not served', async () => {
    const response = await fetch(`${api.server.url}/openapi/v2`, {
      headers: { accept: 'application/com.github.proto-openapi.spec.v2@v1.0+protobuf' },
    });
    // Go's media type parser does not accept @, so the content type differs.
    expect(response.headers.get('content-type')).toBe('application/com.github.proto-openapi.spec.v2.v1.0+protobuf');
    expect(Buffer.from(await response.arrayBuffer()).toString('latin1')).toContain('Kubernetes');
  });

  it('returns the error of a real server for unknown paths', async () => {
    expect(await api.call('GET', '/apis/nope/v1/things')).toMatchObject({ status: 404, body: '404 page not found\n' });
    expect(await api.call('GET', '/apis/apps/v1/things')).toMatchObject({
      status: 404,
      body: { kind: 'Status', reason: 'NotFound' },
    });
    expect((await api.call('GET', '/api/v1/namespaces/default/nopes')).status).toBe(404);
  });

  it('allows all requests', async () => {
    const review = { spec: { resourceAttributes: { verb: 'create', resource: 'pods' } } };
    expect(
      (await api.ok('POST', '/apis/authorization.k8s.io/v1/selfsubjectaccessreviews', review)).status.allowed,
    ).toBe(true);
    expect(
      (await api.ok('POST', '/apis/authentication.k8s.io/v1/selfsubjectreviews', {})).status.userInfo.username,
    ).toBe('admin');
    const token = await api.ok('POST', '/api/v1/namespaces/default/serviceaccounts/default/token', {});
    expect(token.status.token).toEqual(expect.any(String));
  });

  it('returns an error for logs', async () => {
    await api.ok('POST', PODS, pod('quiet'));
    expect(await api.call('GET', `${PODS}/quiet/log`)).toMatchObject({
      status: 400,
      body: { message: expect.stringContaining('does not run container processes') },
    });
    await api.ok('DELETE', `${PODS}/quiet`);
  });

  it('prints pods like kubectl', async () => {
    await api.ok('POST', PODS, pod('shown', { spec: { nodeName: 'n1' } }));
    await api.patch('merge-patch+json', `${PODS}/shown/status`, {
      status: {
        phase: 'Running',
        podIP: '10.0.0.1',
        containerStatuses: [{ name: 'main', ready: true, restartCount: 2, image: 'pause', imageID: 'x' }],
      },
    });
    api.advance(65_000);
    const table = await api.ok('GET', PODS, undefined, TABLE);
    expect(table.columnDefinitions.map(({ name }: Body) => name).slice(0, 5)).toEqual([
      'Name',
      'Ready',
      'Status',
      'Restarts',
      'Age',
    ]);
    expect(table.rows[0].cells).toEqual(['shown', '1/1', 'Running', '2', '65s', '10.0.0.1', 'n1', '<none>', '<none>']);
    await api.ok('DELETE', `${PODS}/shown`);
    expect((await api.ok('GET', PODS, undefined, TABLE)).rows[0].cells[2]).toBe('Terminating');
  });

  it('prints nodes and deployments', async () => {
    const conditions = [{ type: 'Ready', status: 'True' }];
    const node = {
      metadata: { name: 'n1' },
      spec: { unschedulable: true },
      status: { conditions, nodeInfo: { kubeletVersion: 'v1.36.0' } },
    };
    await api.ok('POST', '/api/v1/nodes', node);
    const nodes = await api.ok('GET', '/api/v1/nodes', undefined, TABLE);
    expect(nodes.rows[0].cells.slice(0, 5)).toEqual(['n1', 'Ready,SchedulingDisabled', '<none>', '0s', 'v1.36.0']);
    await api.ok('POST', '/apis/apps/v1/namespaces/default/deployments', deployment('web', { replicas: 2 }));
    const deployments = await api.ok('GET', '/apis/apps/v1/deployments', undefined, TABLE);
    expect(deployments.rows[0].cells).toEqual(['web', '0/2', 0, 0, '0s', 'main', 'pause:3.9', 'app=web']);
  });

  it('returns only metadata on request', async () => {
    const accept = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';
    const list = await api.ok('GET', '/api/v1/nodes', undefined, { accept });
    expect(list.items[0]).toEqual({
      kind: 'PartialObjectMetadata',
      apiVersion: 'meta.k8s.io/v1',
      metadata: expect.objectContaining({ name: 'n1' }),
    });
  });
});
