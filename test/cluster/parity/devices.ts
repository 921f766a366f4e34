/** Objects of dynamic resource allocation: their defaults, validation, field selectors and tables. */
import { except, get, type Json, patch, post, type Step, TABLE } from './script.ts';

const API = 'resource.k8s.io/v1';
const BASE = `/apis/${API}`;
const CLAIMS = `${BASE}/namespaces/devices/resourceclaims`;
const TEMPLATES = `${BASE}/namespaces/devices/resourceclaimtemplates`;
const SLICES = `${BASE}/resourceslices`;
const CLASSES = `${BASE}/deviceclasses`;

const claim = (name: string, devices: Json): Json => ({
  apiVersion: API,
  kind: 'ResourceClaim',
  metadata: { name },
  spec: { devices },
});
const request = (more: Json = {}): Json => ({ name: 'gpu', exactly: { deviceClassName: 'gpu', ...more } });
const alternatives = (count: number): readonly Json[] =>
  Array.from({ length: count }, (_, index) => ({ name: `r${index}`, deviceClassName: 'gpu' }));
const selector = (expression: string): Json => ({ selectors: [{ cel: { expression } }] });

const COMPILER = "quotes the compiler's parser";
const GO = 'prints a Go struct';

const INVALID: Readonly<Record<string, Json>> = {
  'a request without a name': { requests: [{ exactly: { deviceClassName: 'gpu' } }] },
  'a request with a wrong name': { requests: [{ ...request(), name: 'A_b' }] },
  'an empty request': { requests: [{ name: 'gpu' }] },
  'a request of two kinds': { requests: [{ ...request(), firstAvailable: alternatives(1) }] },
  'a request without a class': { requests: [{ name: 'gpu', exactly: {} }] },
  'an unknown mode': { requests: [request({ allocationMode: 'Some' })] },
  'a count of all devices': { requests: [request({ allocationMode: 'All', count: 2 })] },
  'a negative count': { requests: [request({ count: -1 })] },
  'two requests with one name': { requests: [request(), request()] },
  'a selector without an expression': { requests: [request({ selectors: [{}] })] },
  'a long selector': { requests: [request(selector(`device.driver == "${'a'.repeat(10_240)}"`))] },
  'a constraint on an unknown request': {
    requests: [request()],
    constraints: [{ requests: ['x'], matchAttribute: 'a.b/c' }],
  },
  'a constraint without an attribute': { requests: [request()], constraints: [{ requests: ['gpu'] }] },
  'a constraint without a domain': { requests: [request()], constraints: [{ matchAttribute: 'uuid' }] },
  'too many requests': {
    requests: alternatives(33).map(({ name }) => ({ name, exactly: { deviceClassName: 'gpu' } })),
  },
  'too many alternatives': { requests: [{ name: 'gpu', firstAvailable: alternatives(9) }] },
  'an unknown operator': { requests: [request({ tolerations: [{ operator: 'Foo' }] })] },
};
const UNCOMPILED: Readonly<Record<string, string>> = {
  'a selector with a wrong syntax': 'device.driver ==',
  'a selector that is not a bool': 'device.driver',
  'an empty selector': '',
  'a selector with an unknown variable': 'foo.bar == 1',
};

const SLICE = {
  driver: 'gpu.example.com',
  nodeName: 'n',
  pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
  devices: [{ name: 'gpu-0' }],
};
const slice = (name: string, more: Json): Json => ({
  apiVersion: API,
  kind: 'ResourceSlice',
  metadata: { name },
  spec: { ...SLICE, ...more },
});
const device = (more: Json): Json => ({ devices: [{ name: 'a', ...more }] });
const attribute = (name: string, value: Json): Json => device({ attributes: { [name]: value } });

const WRONG_SLICES: Readonly<Record<string, Json>> = {
  'without a driver': { driver: undefined },
  'with a wrong driver': { driver: 'A B' },
  'without a node': { nodeName: undefined },
  'with two selections of nodes': { allNodes: true },
  'of a pool without slices': { pool: { ...SLICE.pool, resourceSliceCount: 0 } },
  'of a negative generation': { pool: { ...SLICE.pool, generation: -1 } },
  'of a pool without a name': { pool: { generation: 1, resourceSliceCount: 1 } },
  'with a device twice': { devices: [{ name: 'a' }, { name: 'a' }] },
  'with a wrong device': { devices: [{ name: 'A' }] },
  'with too many devices': { devices: Array.from({ length: 129 }, (_, index) => ({ name: `d${index}` })) },
  'with an empty attribute': attribute('x', {}),
  'with a wrong version': attribute('x', { version: '1' }),
  'with a long attribute': attribute('x', { string: 'a'.repeat(65) }),
  'with a wrong attribute': attribute('x-y', { string: 'a' }),
  'with too many attributes': device({
    attributes: Object.fromEntries(Array.from({ length: 33 }, (_, index) => [`x${index}`, { int: 1 }])),
  }),
  'with devices and counters': { sharedCounters: [{ name: 'c', counters: { m: { value: '1' } } }] },
  'with an unknown effect': device({ taints: [{ key: 'a', effect: 'Foo' }] }),
};

const deviceClass = (name: string, spec?: Json): Json => ({
  apiVersion: API,
  kind: 'DeviceClass',
  metadata: { name },
  ...(spec && { spec }),
});
const template = (name: string, devices: Json): Json => ({
  apiVersion: API,
  kind: 'ResourceClaimTemplate',
  metadata: { name },
  spec: { spec: { devices } },
});

const ALLOCATION = { devices: { results: [{ request: 'gpu', driver: 'd', pool: 'p', device: 'x' }] } };
const CONSUMER = { resource: 'pods', name: 'a', uid: 'u' };
const other = (change: Json): Json => ({
  devices: { results: ALLOCATION.devices.results.map((result) => ({ ...result, ...change })) },
});
const status = (name: string, to: Json): Step =>
  patch('merge', `write a claim's status ${name}`, `${CLAIMS}/one/status`, { status: to });

export const DEVICES: readonly Step[] = [
  post('create a namespace for devices', '/api/v1/namespaces', { metadata: { name: 'devices' } }),
  post('create a claim', CLAIMS, claim('one', { requests: [request()] })),
  post('create a claim for all devices', CLAIMS, claim('all', { requests: [request({ allocationMode: 'All' })] })),
  post(
    'create a claim with alternatives',
    CLAIMS,
    claim('first', { requests: [{ name: 'gpu', firstAvailable: alternatives(2) }] }),
  ),
  post('create a claim with a count of zero', CLAIMS, claim('zero', { requests: [request({ count: 0 })] })),
  post(
    'create a claim with a toleration',
    CLAIMS,
    claim('tolerant', { requests: [request({ tolerations: [{ key: 'a' }] })] }),
  ),
  post('create a claim without requests', CLAIMS, claim('none', {})),
  post('create a claim without a spec', CLAIMS, {
    apiVersion: API,
    kind: 'ResourceClaim',
    metadata: { name: 'empty' },
  }),
  ...Object.entries(INVALID).map(([name, devices]) =>
    post(`create a claim with ${name}`, CLAIMS, claim('wrong', devices)),
  ),
  ...Object.entries(UNCOMPILED).map(([name, expression]) =>
    except(
      COMPILER,
      post(`create a claim with ${name}`, CLAIMS, claim('wrong', { requests: [request(selector(expression))] })),
    ),
  ),
  except(
    GO,
    patch('merge', 'change a claim', `${CLAIMS}/one`, { spec: { devices: { requests: [request({ count: 2 })] } } }),
  ),
  status('without an allocation', { reservedFor: [CONSUMER] }),
  status('with an unknown request', { allocation: other({ request: 'nope' }) }),
  status('with an allocation', { allocation: ALLOCATION, reservedFor: [CONSUMER] }),
  except(GO, status('with another allocation', { allocation: other({ device: 'y' }) })),
  status('without the allocation', { allocation: null }),
  get('list claims as a table', CLAIMS, { accept: TABLE }),
  status('without anything', { allocation: null, reservedFor: null }),
  post('create a template', TEMPLATES, template('one', { requests: [request()] })),
  except(
    COMPILER,
    post(
      'create a template with a wrong selector',
      TEMPLATES,
      template('wrong', { requests: [request(selector('x =='))] }),
    ),
  ),
  except(
    GO,
    patch('merge', 'change a template', `${TEMPLATES}/one`, {
      spec: { spec: { devices: { requests: [request({ count: 2 })] } } },
    }),
  ),
  get('list templates as a table', TEMPLATES, { accept: TABLE }),
  post('create a slice', SLICES, slice('one', {})),
  post('create a slice of a network device', SLICES, slice('wide', { nodeName: undefined, allNodes: true })),
  post(
    'create a slice of counters',
    SLICES,
    slice('counters', { devices: undefined, sharedCounters: [{ name: 'c', counters: { m: { value: '1' } } }] }),
  ),
  ...Object.entries(WRONG_SLICES).map(([name, more]) => post(`create a slice ${name}`, SLICES, slice('wrong', more))),
  except(
    GO,
    post(
      'create a slice with two values of an attribute',
      SLICES,
      slice('wrong', attribute('x', { int: 1, string: 'a' })),
    ),
  ),
  ...['driver', 'nodeName'].map((name) =>
    patch('merge', `change the ${name} of a slice`, `${SLICES}/one`, { spec: { [name]: 'm.example.com' } }),
  ),
  patch('merge', 'change the pool of a slice', `${SLICES}/one`, { spec: { pool: { name: 'm' } } }),
  patch('merge', 'change the generation of a slice', `${SLICES}/one`, { spec: { pool: { generation: 2 } } }),
  ...['spec.driver', 'spec.nodeName'].map((path) =>
    get(`select slices by ${path}`, `${SLICES}?fieldSelector=${path}%3Dn`),
  ),
  except(
    'has words of its own for this kind',
    get('select slices by pool', `${SLICES}?fieldSelector=spec.pool.name%3Dn`),
  ),
  get('list slices as a table', SLICES, { accept: TABLE }),
  post('create a class', CLASSES, deviceClass('one', selector('device.driver == "a"'))),
  post('create a class without a spec', CLASSES, deviceClass('empty')),
  post(
    'create a class of an extended resource',
    CLASSES,
    deviceClass('extended', { extendedResourceName: 'example.com/foo' }),
  ),
  post('create a class of a wrong resource', CLASSES, deviceClass('wrong', { extendedResourceName: 'foo' })),
  except(
    COMPILER,
    post('create a class with a wrong selector', CLASSES, deviceClass('wrong', selector('device.driver =='))),
  ),
  get('list classes as a table', CLASSES, { accept: TABLE }),
];
