/** Validation of claims, slices and classes. test/cluster/parity compares more cases with a real API server. */
import { describe, expect, it } from '@jest/globals';
import {
  claimCauses,
  claimStatusCauses,
  deviceClassCauses,
} from '../../../../../../src/local/kubernetes/apiserver/admission/device-claims.ts';
import { resourceSliceCauses } from '../../../../../../src/local/kubernetes/apiserver/admission/resource-slices.ts';
import type { StatusCause } from '../../../../../../src/local/kubernetes/apiserver/status.ts';

const METADATA = { name: 'one', namespace: 'default' };
const claim = (devices: object, status?: object) => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: METADATA,
  spec: { devices },
  ...(status && { status }),
});
const request = (more: object = {}) => ({
  name: 'gpu',
  exactly: { deviceClassName: 'gpu', allocationMode: 'ExactCount', count: 1, ...more },
});
const slice = (more: object = {}) => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceSlice',
  metadata: METADATA,
  spec: {
    driver: 'gpu.example.com',
    nodeName: 'n',
    pool: { name: 'n', generation: 1, resourceSliceCount: 1 },
    devices: [{ name: 'gpu-0' }],
    ...more,
  },
});
const shown = (causes: readonly StatusCause[]) => causes.map(({ field, message }) => `${field}: ${message}`);
const selectors = (expression: string) => [{ cel: { expression } }];

describe('a claim', () => {
  it('is valid with requests, alternatives and constraints', () => {
    const firstAvailable = [{ name: 'a', deviceClassName: 'gpu', allocationMode: 'All' }];
    const requests = [request({ selectors: selectors("device.driver == 'a'") }), { name: 'other', firstAvailable }];
    const constraints = [{ requests: ['gpu', 'other/a'], matchAttribute: 'example.com/root' }];
    expect(claimCauses(claim({ requests, constraints }))).toEqual([]);
  });

  it('names the field of a selector that does not compile', () => {
    expect(shown(claimCauses(claim({ requests: [request({ selectors: selectors('device.driver ==') })] })))).toEqual([
      expect.stringMatching(
        /^spec\.devices\.requests\[0\]\.exactly\.selectors\[0\]\.cel\.expression: Invalid value: "device\.driver ==": compilation failed: /,
      ),
    ]);
  });

  it('is invalid if a request has no class, or a constraint an unknown request', () => {
    const constraints = [{ requests: ['x'], matchAttribute: 'a.b/c' }];
    expect(shown(claimCauses(claim({ requests: [request({ deviceClassName: '' })], constraints })))).toEqual([
      'spec.devices.requests[0].exactly.deviceClassName: Required value',
      expect.stringMatching(/^spec\.devices\.constraints\[0\]\.requests\[0\]: Invalid value: "x": must be the name of/),
    ]);
  });

  it('never changes its spec', () => {
    const before = claim({ requests: [request()] });
    expect(claimCauses(claim({ requests: [request()] }), before)).toEqual([]);
    const [cause] = shown(claimCauses(claim({ requests: [request({ count: 2 })] }), before));
    expect(cause).toMatch(/^spec: Invalid value: .*: field is immutable$/);
  });

  it('keeps its allocation until it is released as a whole', () => {
    const devices = { requests: [request()] };
    const allocation = (device: string) => ({ devices: { results: [{ request: 'gpu', device }] } });
    const before = claim(devices, { allocation: allocation('a') });
    const changed = (status: object) => shown(claimStatusCauses(claim(devices, status), before));
    expect(changed({ allocation: allocation('a'), reservedFor: [{ uid: 'u' }] })).toEqual([]);
    expect(changed({ allocation: allocation('b') })).toEqual([expect.stringContaining('field is immutable')]);
    expect(changed({ reservedFor: [{ uid: 'u' }] })).toEqual([
      'status.reservedFor: Forbidden: may not be specified when `allocated` is not set',
    ]);
    expect(changed({})).toEqual([]);
  });
});

describe('a slice', () => {
  it('selects its nodes in exactly one way', () => {
    expect(resourceSliceCauses(slice())).toEqual([]);
    expect(shown(resourceSliceCauses(slice({ nodeName: undefined })))).toEqual([
      'spec: Required value: exactly one of `nodeName`, `nodeSelector`, `allNodes`, `perDeviceNodeSelection` is required',
    ]);
    expect(shown(resourceSliceCauses(slice({ allNodes: true })))).toEqual([
      expect.stringContaining('but multiple fields are set'),
    ]);
  });

  it('names wrong attributes, taints and repeated devices', () => {
    const devices = [
      { name: 'a', attributes: { x: { version: '1' } } },
      { name: 'a', taints: [{ key: 'k', effect: 'Foo' }] },
    ];
    expect(shown(resourceSliceCauses(slice({ devices })))).toEqual([
      'spec.devices[0].attributes[x].version: Invalid value: "1": must be a string compatible with semver.org spec 2.0.0',
      'spec.devices[1].taints[0].effect: Unsupported value: "Foo": supported values: "NoExecute", "NoSchedule", "None"',
      'spec.devices[1]: Duplicate value: "a"',
    ]);
  });

  it('never changes its node', () => {
    expect(shown(resourceSliceCauses(slice({ nodeName: 'm' }), slice()))).toEqual([
      'spec.nodeName: Invalid value: "m": field is immutable',
    ]);
  });
});

it('provides an extended resource with a domain if it is a class', () => {
  const spec = { extendedResourceName: 'gpu' };
  const object = { apiVersion: 'resource.k8s.io/v1', kind: 'DeviceClass', metadata: METADATA };
  expect(shown(deviceClassCauses({ ...object, spec }))).toEqual([
    'spec.extendedResourceName: Invalid value: "gpu": must be a valid extended resource name',
  ]);
  expect(deviceClassCauses({ ...object, spec: { extendedResourceName: 'example.com/gpu' } })).toEqual([]);
});
