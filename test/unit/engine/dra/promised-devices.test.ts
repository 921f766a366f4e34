import { expect, it } from '@jest/globals';
import { missingDevices } from '../../../../src/engine/dra/promised-devices.ts';
import { DRIVER, devices, slice, template } from './build.ts';

const gpu = (model: string, memory: string) => ({
  attributes: { model: { string: model } },
  capacity: { memory: { value: memory } },
});

it.each([
  ['all devices', devices(2, () => gpu('a', '10Gi')), 0],
  ['more devices with more capacity', devices(3, () => gpu('a', '11Gi')), 0],
  ['other names', devices(2, () => gpu('a', '10Gi')).map((one) => ({ ...one, name: `other-${one.name}` })), 0],
  ['fewer devices', devices(1, () => gpu('a', '10Gi')), 1],
  ['less capacity', devices(2, () => gpu('a', '9Gi')), 2],
  ['another model', devices(2, (index) => gpu(index === 0 ? 'a' : 'b', '10Gi')), 1],
  ['no attributes', devices(2), 2],
  ['shared devices', devices(2, () => ({ ...gpu('a', '10Gi'), allowMultipleAllocations: true })), 2],
])('counts the promised devices that a node with %s does not have', (_, published, missing) => {
  const promised = template(devices(2, () => gpu('a', '10Gi')));
  expect(missingDevices(promised, DRIVER, [slice(published)])).toBe(missing);
  expect(missingDevices(promised, 'other', [])).toBe(0);
});
