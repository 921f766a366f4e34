/** Requests are shared only between pods that have the same requests. */
import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { placementRequests } from '../../../src/engine/placement-requests.ts';
import { podRequests } from '../../../src/engine/resources.ts';

const containers = [{ name: 'main', resources: { requests: { cpu: '100m' } } }];

const podWith = (spec: Partial<Pod['spec']> = {}, status?: Pod['status']): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'pod' },
  spec: { containers, ...spec },
  ...(status && { status }),
});

describe('the cached requests', () => {
  it('is one object for pods that share their containers', () => {
    expect(placementRequests(podWith({ nodeName: 'a' }))).toBe(placementRequests(podWith({ nodeName: 'b' })));
  });

  it('is one object for pods that share their containers, although kubelets have reported their containers', () => {
    const status = { containerStatuses: [{ name: 'main', ready: true }] };
    expect(placementRequests(podWith({}, status))).toBe(placementRequests(podWith()));
  });

  it('is one object for pods that share their containers, although kubelets have reported their requests', () => {
    const status = { containerStatuses: [{ name: 'main', resources: containers[0]?.resources ?? {} }] };
    expect(placementRequests(podWith({}, status))).toBe(placementRequests(podWith()));
  });

  it.each([
    ['plain', podWith()],
    ['init containers', podWith({ initContainers: [{ name: 'init', resources: { requests: { cpu: '3' } } }] })],
    ['requests of the whole pod', podWith({ resources: { requests: { cpu: '4' } } })],
    ['overhead', podWith({ overhead: { cpu: '5' } })],
    [
      'a resize of a sidecar in progress',
      podWith(
        { initContainers: [{ name: 'side', restartPolicy: 'Always' }] },
        {
          initContainerStatuses: [{ name: 'side', resources: { requests: { cpu: '7' } } }],
        },
      ),
    ],
    [
      'a resize in progress',
      podWith({}, { containerStatuses: [{ name: 'main', resources: { requests: { cpu: '6' } } }] }),
    ],
  ])('is that of the pod, although other pods share its containers: %s', (_, pod) => {
    placementRequests(podWith());
    expect(placementRequests(pod)).toEqual(podRequests(pod));
  });
});
