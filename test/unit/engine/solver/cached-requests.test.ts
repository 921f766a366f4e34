/** Requests are shared only between pods that have the same requests. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '../../../../src/api/kubernetes.ts';
import { podRequests } from '../../../../src/engine/resources.ts';
import { cachedRequests } from '../../../../src/engine/solver/cached-requests.ts';

const containers = [{ name: 'main', resources: { requests: { cpu: '100m' } } }];

const podWith = (spec: Partial<Pod['spec']> = {}, status?: Pod['status']): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod' },
  spec: { containers, ...spec },
  ...(status && { status }),
});

describe('cached requests', () => {
  it('are one object for pods that share their containers', () => {
    expect(cachedRequests(podWith({ nodeName: 'a' }))).toBe(cachedRequests(podWith({ nodeName: 'b' })));
  });

  it.each([
    ['plain', podWith()],
    ['init containers', podWith({ initContainers: [{ name: 'init', resources: { requests: { cpu: '3' } } }] })],
    ['requests of the whole pod', podWith({ resources: { requests: { cpu: '4' } } })],
    ['overhead', podWith({ overhead: { cpu: '5' } })],
    [
      'a resize in progress',
      podWith({}, { containerStatuses: [{ name: 'main', allocatedResources: { cpu: '6' } }] } as never),
    ],
  ])('are those of the pod, although other pods share its containers: %s', (_, pod) => {
    cachedRequests(podWith());
    expect(cachedRequests(pod)).toEqual(podRequests(pod));
  });
});
