/** Requests of pods during an in-place resize, compared with the rules of kube-scheduler. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type Condition, type Container, type ContainerStatus, POD, type Pod, type QuantityList } from '#api/objects';
import { trimmedPod } from '#engine-worker/testing';
import { trimmedObject } from '#kube/client';
import { podRequests } from '../../../src/engine/resources.ts';

type Parts = Omit<Pod['spec'], 'containers'> & { readonly containers?: readonly Container[] };

const podWith = ({ containers = [], ...spec }: Parts, status: Pod['status'] = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default' },
  spec: { containers, ...spec },
  status,
});

const container = (name: string, cpu: string, restartPolicy?: string): Container => ({
  name,
  resources: { requests: { cpu } },
  ...(restartPolicy && { restartPolicy }),
});

const report = (name: string, allocated: string, inEffect = allocated): ContainerStatus => ({
  name,
  allocatedResources: { cpu: allocated },
  resources: { requests: { cpu: inEffect } },
});

const pending = (reason: string): readonly Condition[] => [{ type: 'PodResizePending', status: 'True', reason }];

/** Rows of the scenarios: cores of the spec, allocated and in effect. */
const resized = (spec: string, allocated: string, inEffect: string, reason?: string): Pod =>
  podWith(
    { containers: [container('a', spec)] },
    { containerStatuses: [report('a', allocated, inEffect)], ...(reason && { conditions: pending(reason) }) },
  );

describe('podRequests', () => {
  it.each<[string, Pod, number]>([
    ['the spec of a pod whose kubelet reports no requests', podWith({ containers: [container('a', '2')] }), 2],
    ['the allocated amount until a decrease is complete', resized('2', '6', '6'), 6],
    ['the amount in effect until a decrease is complete', resized('2', '2', '6'), 6],
    ['the desired amount of a completed decrease', resized('2', '2', '2'), 2],
    ['the desired amount of a deferred increase', resized('6', '2', '2', 'Deferred'), 6],
    ['the allocated amount of an infeasible increase', resized('6', '2', '2', 'Infeasible'), 2],
    ['the allocated amount of an increase in progress', resized('6', '6', '2'), 6],
    [
      'the amount in effect if nothing is reported as allocated',
      podWith(
        { containers: [container('a', '1')] },
        { containerStatuses: [{ name: 'a', resources: { requests: { cpu: '7' } } }] },
      ),
      7,
    ],
    [
      'the spec if only the allocated amount is reported',
      podWith(
        { containers: [container('a', '1')] },
        { containerStatuses: [{ name: 'a', allocatedResources: { cpu: '2' } }] },
      ),
      1,
    ],
    [
      'a sidecar that is resized',
      podWith(
        { containers: [container('a', '1')], initContainers: [container('s', '3', 'Always')] },
        { containerStatuses: [report('a', '1')], initContainerStatuses: [report('s', '1')] },
      ),
      4,
    ],
    [
      'the spec of an ordinary init container, whatever is reported',
      podWith(
        { containers: [container('a', '1')], initContainers: [container('i', '2')] },
        { containerStatuses: [report('a', '1')], initContainerStatuses: [report('i', '9')] },
      ),
      2,
    ],
    [
      'no desired amount of any container of an infeasible resize',
      podWith(
        { containers: [container('a', '6'), container('b', '4')] },
        { containerStatuses: [report('a', '2'), report('b', '1')], conditions: pending('Infeasible') },
      ),
      3,
    ],
    [
      'the allocated requests of the whole pod',
      podWith(
        { containers: [container('a', '1')], resources: { requests: { cpu: '2' } } },
        { resources: { requests: { cpu: '2' } }, allocatedResources: { cpu: '4' } },
      ),
      4,
    ],
    [
      'the desired requests of the whole pod if no effect is reported',
      podWith(
        { containers: [container('a', '1')], resources: { requests: { cpu: '2' } } },
        { allocatedResources: { cpu: '4' } },
      ),
      2,
    ],
    [
      'overhead',
      podWith(
        { containers: [container('a', '1')], overhead: { cpu: '250m' } },
        { containerStatuses: [report('a', '2')] },
      ),
      2.25,
    ],
    [
      'resources of the node that claims allocate',
      podWith(
        { containers: [container('a', '1')] },
        { nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'c', resources: { cpu: '2' } }] },
      ),
      3,
    ],
  ])('counts %s', (_, pod, cores) => expect(podRequests(pod).cpu).toBe(1000 * cores));
});

const NAMES = ['cpu', 'memory', 'hugepages-2Mi', 'example.com/gpu'];
const list = fc.dictionary(fc.constantFrom(...NAMES), fc.nat(8), { maxKeys: 4 });
const maybe = <T>(arbitrary: fc.Arbitrary<T>) => fc.option(arbitrary, { nil: undefined });
const without = <T extends object>(object: T): T =>
  Object.fromEntries(Object.entries(object).filter(([, value]) => value !== undefined)) as T;

const drawnContainer = fc
  .record({ requests: maybe(list), inEffect: maybe(list), allocated: maybe(list), sidecar: fc.boolean() })
  .map((drawn) => drawn);
const drawnPod = fc
  .record({
    main: fc.array(drawnContainer, { minLength: 1, maxLength: 3 }),
    init: fc.array(drawnContainer, { maxLength: 3 }),
    whole: maybe(fc.record({ requests: list, inEffect: maybe(list), allocated: maybe(list) })),
    overhead: maybe(list),
    reason: maybe(fc.constantFrom('Infeasible', 'Deferred')),
    claimed: maybe(list),
  })
  .map((drawn) => {
    const named = (prefix: string, given: typeof drawn.main) =>
      given.map((each, at) => ({ ...each, name: `${prefix}${at}` }));
    const [main, init] = [named('m', drawn.main), named('i', drawn.init)];
    const specOf = ({ name, requests, sidecar }: (typeof main)[number], isInit: boolean): Container =>
      without({
        name,
        ...(requests && { resources: { requests } }),
        ...(isInit && sidecar && { restartPolicy: 'Always' }),
      });
    const statusOf = ({ name, inEffect, allocated }: (typeof main)[number]): ContainerStatus =>
      without({
        name,
        ...(inEffect && { resources: { requests: inEffect } }),
        ...(allocated && { allocatedResources: allocated }),
      });
    return podWith(
      without({
        containers: main.map((each) => specOf(each, false)),
        initContainers: init.map((each) => specOf(each, true)),
        ...(drawn.whole && { resources: { requests: drawn.whole.requests } }),
        ...(drawn.overhead && { overhead: drawn.overhead }),
      }),
      without({
        containerStatuses: main.map(statusOf),
        initContainerStatuses: init.map(statusOf),
        ...(drawn.reason && { conditions: pending(drawn.reason) }),
        ...(drawn.whole?.inEffect && { resources: { requests: drawn.whole.inEffect } }),
        ...(drawn.whole?.allocated && { allocatedResources: drawn.whole.allocated }),
        ...(drawn.claimed && {
          nodeAllocatableResourceClaimStatuses: [{ resourceClaimName: 'c', resources: drawn.claimed }],
        }),
      }),
    );
  });

/** Amount of one resource, computed step by step as kube-scheduler does. */
function expected(pod: Pod, name: string): number {
  const { spec, status = {} } = pod;
  const isInfeasible = status.conditions?.[0]?.reason === 'Infeasible';
  const at = (amounts: QuantityList | undefined): number => Number(amounts?.[name] ?? 0);
  const effective = (desired?: QuantityList, inEffect?: QuantityList, allocated?: QuantityList): number =>
    Math.max(isInfeasible ? 0 : at(desired), at(inEffect), at(allocated));
  const all = [...(status.containerStatuses ?? []), ...(status.initContainerStatuses ?? [])];
  const of = ({ name: id, resources }: Container): number => {
    const found = all.find((each) => each.name === id);
    return found?.resources === undefined
      ? at(resources?.requests)
      : effective(resources?.requests, found.resources.requests, found.allocatedResources);
  };
  let sum = spec.containers.reduce((total, each) => total + of(each), 0);
  let sidecars = 0;
  let peak = 0;
  for (const each of spec.initContainers ?? []) {
    if (each.restartPolicy === 'Always') {
      sum += of(each);
      sidecars += of(each);
      peak = Math.max(peak, sidecars);
    } else peak = Math.max(peak, sidecars + at(each.resources?.requests));
  }
  let total = Math.max(sum, peak);
  for (const claim of status.nodeAllocatableResourceClaimStatuses ?? []) total += at(claim.resources);
  const whole = spec.resources?.requests;
  if (whole !== undefined && name in whole && name !== 'example.com/gpu')
    total =
      status.resources === undefined
        ? at(whole)
        : effective(whole, status.resources.requests, status.allocatedResources);
  return total + at(spec.overhead);
}

describe('podRequests of random pods', () => {
  it('returns for random pods those of kube-scheduler, for whole and for trimmed pods', () => {
    fc.assert(
      fc.property(drawnPod, (pod) => {
        for (const seen of [pod, trimmedPod(pod), trimmedObject(POD, pod), trimmedPod(trimmedObject(POD, pod))]) {
          const requests = podRequests(seen);
          for (const name of NAMES)
            expect([name, requests[name] ?? 0]).toEqual([name, expected(pod, name) * (name === 'cpu' ? 1000 : 1)]);
        }
      }),
      { numRuns: 1000 },
    );
  });
});
