import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Pod } from '#api/objects';
import type { Resources } from '../../../src/engine/model.ts';
import {
  addResources,
  fits,
  podLimits,
  podRequests,
  quantityList,
  resourcesOf,
  subtractResources,
} from '../../../src/engine/resources.ts';
import { pod } from './build.ts';

const withSpec = (spec: Partial<Pod['spec']>): Pod => ({ ...pod('p'), spec: { containers: [], ...spec } });
const container = (name: string, cpu: string, restartPolicy?: string) => ({
  name,
  resources: { requests: { cpu } },
  ...(restartPolicy === undefined ? {} : { restartPolicy }),
});

describe('resourcesOf', () => {
  it.each([
    [{ cpu: '100m' }, { cpu: 100 }],
    [{ cpu: 2 }, { cpu: 2000 }],
    [{ cpu: '0.1' }, { cpu: 100 }],
    [{ memory: '1Gi' }, { memory: 2 ** 30 }],
    [{ memory: '1500m' }, { memory: 2 }],
    [
      { 'nvidia.com/gpu': '1', pods: 110 },
      { 'nvidia.com/gpu': 1, pods: 110 },
    ],
  ])('parses %j as %j', (list, resources) => expect(resourcesOf(list)).toEqual(resources));

  it('is the inverse of quantityList', () => {
    const amounts = fc.record({ cpu: fc.nat(), memory: fc.nat(), pods: fc.nat(1000) });
    fc.assert(fc.property(amounts, (resources) => expect(resourcesOf(quantityList(resources))).toEqual(resources)));
  });
});

describe('quantityList', () => {
  it.each([
    [{ cpu: 63500 }, { cpu: '63500m' }],
    [{ cpu: 2000 }, { cpu: '2' }],
    [{ memory: 19712 * 2 ** 20 }, { memory: '19712Mi' }],
    [{ memory: 1000 }, { memory: '1k' }],
    [
      { pods: 23, memory: 0 },
      { memory: '0', pods: '23' },
    ],
  ])('writes %j as %j', (resources, list) => expect(quantityList(resources)).toEqual(list));
});

describe('podRequests', () => {
  it('sums containers and counts one pod', () => {
    const both = withSpec({ containers: [container('a', '1'), container('b', '500m')] });
    expect(podRequests(both)).toEqual({ cpu: 1500, pods: 1 });
  });

  it('includes the peak of an init container', () => {
    const requests = podRequests(
      withSpec({ containers: [container('a', '1')], initContainers: [container('i', '4')] }),
    );
    expect(requests.cpu).toBe(4000);
  });

  it('counts sidecars with the containers and with later init containers', () => {
    const sidecar = container('s', '1', 'Always');
    const containers = [container('a', '1')];
    expect(podRequests(withSpec({ containers, initContainers: [sidecar, container('i', '4')] })).cpu).toBe(5000);
    expect(podRequests(withSpec({ containers, initContainers: [container('i', '4'), sidecar] })).cpu).toBe(4000);
    expect(podRequests(withSpec({ containers, initContainers: [sidecar] })).cpu).toBe(2000);
  });

  it('prefers pod-level requests, and adds overhead', () => {
    const whole = withSpec({
      containers: [container('a', '1')],
      resources: { requests: { cpu: '3' } },
      overhead: { cpu: '250m' },
    });
    expect(podRequests(whole)).toEqual({ cpu: 3250, pods: 1 });
  });
});

describe('podLimits', () => {
  it('adds overhead only to limited resources', () => {
    const limited = withSpec({
      containers: [{ name: 'a', resources: { limits: { cpu: '1' } } }],
      overhead: { cpu: '100m', memory: '1Gi' },
    });
    expect(podLimits(limited)).toEqual({ cpu: 1100, pods: 1 });
  });
});

describe('fits', () => {
  it.each<[string, Resources, Resources, boolean]>([
    ['an equal amount', { cpu: 1 }, { cpu: 1 }, true],
    ['too much', { cpu: 2 }, { cpu: 1 }, false],
    ['an unknown resource', { gpu: 1 }, { cpu: 1 }, false],
    ['none of an unknown resource', { gpu: 0 }, { cpu: 1 }, true],
    ['any amount into a negative total', {}, { cpu: -1 }, false],
  ])('evaluates %s', (_, request, total, verdict) => expect(fits(request, total)).toBe(verdict));

  it('accepts a part of a sum', () => {
    const amounts = fc.record({ cpu: fc.nat(), memory: fc.nat() });
    fc.assert(
      fc.property(amounts, amounts, (a, b) => {
        expect(subtractResources(addResources(a, b), b)).toEqual(a);
        expect(fits(a, addResources(a, b))).toBe(true);
      }),
    );
  });
});
