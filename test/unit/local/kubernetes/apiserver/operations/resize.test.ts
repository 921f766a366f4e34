import { afterAll, beforeAll, beforeEach, describe, expect, it } from '@jest/globals';
import { type Body, PODS, pod, type TestServer, testServer } from '../client.ts';

const resources = (cpu: string, memory = '64Mi') => ({ requests: { cpu, memory }, limits: { cpu, memory: '128Mi' } });
const container = (more: object = {}) => ({ name: 'app', image: 'web', resources: resources('100m'), ...more });

describe('the resize subresource of the local API server', () => {
  let api: TestServer;
  let serial = 0;
  let name: string;
  beforeAll(async () => {
    api = await testServer();
  });
  afterAll(() => api.server.close());
  beforeEach(async () => {
    serial++;
    name = `web-${serial}`;
    const spec = { nodeName: 'n1', containers: [container()], initContainers: [{ ...container(), name: 'init' }] };
    await api.ok('POST', PODS, pod(name, { spec }));
  });

  const resize = (spec: Body, type = 'strategic-merge-patch+json') =>
    api.patch(type, `${PODS}/${name}/resize`, { spec });
  const read = () => api.ok('GET', `${PODS}/${name}`);

  it('changes the resources of a container, the generation and the managers of the fields', async () => {
    const { status, body } = await resize({ containers: [{ name: 'app', resources: { requests: { cpu: '50m' } } }] });
    expect(status).toBe(200);
    expect(body.spec.containers[0].resources).toEqual({
      requests: { cpu: '50m', memory: '64Mi' },
      limits: { cpu: '100m', memory: '128Mi' },
    });
    const stored = await read();
    expect(stored.metadata.generation).toBe(2);
    expect(stored.metadata.managedFields).toContainEqual(expect.objectContaining({ subresource: 'resize' }));
    expect((await api.ok('GET', `${PODS}/${name}/resize`)).metadata.uid).toBe(stored.metadata.uid);
  });

  it('ignores other changes, and refuses resources outside of the subresource', async () => {
    const { status } = await resize({ priorityClassName: 'high', containers: [{ name: 'app', image: 'other' }] });
    expect(status).toBe(200);
    expect((await read()).spec.containers[0].image).toBe('web');
    const containers = [{ name: 'app', resources: { requests: { cpu: '50m' } } }];
    const refused = await api.patch('strategic-merge-patch+json', `${PODS}/${name}`, { spec: { containers } });
    expect(refused.status).toBe(422);
  });

  it.each<[string, Body, string]>([
    [
      'a removed limit',
      { containers: [{ name: 'app', resources: { limits: { memory: null } } }] },
      'spec.containers[0].resources.limits: Forbidden: resource limits cannot be removed',
    ],
    [
      'another QoS class',
      {
        containers: [{ name: 'app', resources: { requests: { cpu: '100m', memory: '128Mi' } } }],
        initContainers: [{ name: 'init', resources: { requests: { cpu: '100m', memory: '128Mi' } } }],
      },
      'Pod QOS Class may not change as a result of resizing',
    ],
    [
      'another resource',
      { containers: [{ name: 'app', resources: { requests: { 'ephemeral-storage': '1Gi' } } }] },
      'only cpu and memory resources are mutable',
    ],
    [
      'another resize policy',
      { containers: [{ name: 'app', resizePolicy: [{ resourceName: 'cpu', restartPolicy: 'NotRequired' }] }] },
      'only cpu and memory resources are mutable',
    ],
    [
      'another container',
      { containers: [{ name: 'second', image: 'x' }] },
      'spec.containers: Forbidden: containers may not be added or removed on resize',
    ],
    [
      'a request beyond its limit',
      { containers: [{ name: 'app', resources: { requests: { cpu: '2' } } }] },
      'must be less than or equal to cpu limit of 100m',
    ],
  ])('refuses %s', async (_, spec, message) => {
    const { status, body } = await resize(spec);
    expect({ status, message: body.message }).toEqual({ status: 422, message: expect.stringContaining(message) });
  });

  it('refuses a pod whose kubelet does not report resources', async () => {
    const containerStatuses = [
      { name: 'app', image: 'web', imageID: '', ready: true, restartCount: 0, state: { running: {} } },
    ];
    await api.patch('merge-patch+json', `${PODS}/${name}/status`, { status: { containerStatuses } });
    const { body } = await resize({ containers: [{ name: 'app', resources: { requests: { cpu: '50m' } } }] });
    expect(body.message).toContain('Pod running on node without support for resize');
  });

  it('is part of discovery', async () => {
    const { resources: served } = await api.ok('GET', '/api/v1');
    expect(served).toContainEqual(
      expect.objectContaining({ name: 'pods/resize', kind: 'Pod', verbs: ['get', 'patch', 'update'] }),
    );
  });

  it('refuses resize policies that are not valid when the pod is created', async () => {
    const resizePolicy = [{ resourceName: 'disk', restartPolicy: 'Never' }];
    const spec = { containers: [container({ resizePolicy })] };
    const { status, body } = await api.call('POST', PODS, pod('invalid', { spec }));
    expect(status).toBe(422);
    expect(body.message).toMatch(/resizePolicy: Unsupported value: "disk".*"Never"/s);
  });
});
