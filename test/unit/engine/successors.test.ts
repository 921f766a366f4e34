/** A pod that is resized in place has a successor with the requests of the template. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Container, ObjectMeta, Pod, QuantityList } from '#api/objects';
import { trimmedPod } from '#engine-worker/testing';
import { placementRequests } from '../../../src/engine/placement-requests.ts';
import { podRequests } from '../../../src/engine/resources.ts';
import { resourceTemplateOf, withSuccessor } from '../../../src/engine/successors.ts';

const RESIZED = { managedFields: [{ subresource: 'status' }, { subresource: 'resize' }] };

const podWith = (containers: readonly Container[], metadata: Partial<ObjectMeta> = RESIZED, spec = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name: 'p', namespace: 'default', ...metadata },
  spec: { nodeName: 'n', containers, ...spec },
});
const sized = (name: string, requests: QuantityList): Container => ({ name, resources: { requests } });
const templateOf = (...containers: readonly Container[]) => resourceTemplateOf({ spec: { containers } });

const NAMES = ['app', 'helper', 'injected'] as const;
const amounts = fc.record({ cpu: fc.integer({ min: 1, max: 8 }), memory: fc.integer({ min: 1, max: 8 }) });
const partial = fc.record(
  { cpu: fc.integer({ min: 1, max: 8 }), memory: fc.integer({ min: 1, max: 8 }) },
  { requiredKeys: [] },
);

/** A new pod, its template, and the pod after a resize of the amounts in the template. */
const drawnResize = fc
  .record({
    template: fc.tuple(partial, partial),
    added: fc.tuple(amounts, amounts, amounts),
    resized: fc.tuple(amounts, amounts),
    gpu: fc.nat(2),
    overhead: fc.option(amounts, { nil: undefined }),
    isInit: fc.boolean(),
    podLevel: fc.option(fc.tuple(amounts, amounts), { nil: undefined }),
    reported: amounts,
    reason: fc.constantFrom(undefined, 'Infeasible', 'Deferred'),
  })
  .map(({ template, added, resized, gpu, overhead, isInit, podLevel, reported, reason }) => {
    // admission adds the requests that the template lacks, and a container
    const extra = gpu > 0 ? { 'example.com/gpu': gpu } : {};
    const created = NAMES.map((name, at) => sized(name, { ...extra, ...added[at], ...template[at] }));
    const after = NAMES.map((name, at) => {
      const kept = Object.fromEntries(Object.entries(resized[at] ?? {}).filter(([key]) => key in (template[at] ?? {})));
      return sized(name, { ...extra, ...added[at], ...template[at], ...kept });
    });
    const specOf = (containers: readonly Container[], level: QuantityList | undefined) => {
      const [first, second, third] = containers as [Container, Container, Container];
      const sidecar = { ...second, restartPolicy: 'Always' };
      return {
        nodeName: 'n',
        containers: isInit ? [first, third] : containers,
        ...(isInit && { initContainers: [sidecar] }),
        ...(overhead && { overhead }),
        ...(level && { resources: { requests: level } }),
      };
    };
    const templates = NAMES.slice(0, 2).map((name, at) => sized(name, template[at] ?? {}));
    const base = { apiVersion: 'v1', kind: 'Pod', metadata: { name: 'p', ...RESIZED } };
    return {
      created: { ...base, spec: specOf(created, podLevel?.[0]) } as Pod,
      resized: {
        ...base,
        spec: specOf(after, podLevel?.[1]),
        status: {
          containerStatuses: [{ name: 'app', resources: { requests: reported }, allocatedResources: reported }],
          conditions: reason === undefined ? [] : [{ type: 'PodResizePending', status: 'True', reason }],
        },
      } as Pod,
      template: resourceTemplateOf({
        spec: {
          containers: isInit ? templates.slice(0, 1) : templates,
          ...(isInit && { initContainers: templates.slice(1) }),
          ...(podLevel && { resources: { requests: podLevel[0] } }),
        },
      }),
    };
  });

describe('withSuccessor', () => {
  it('predicts the requests that the pod had when it was created, whatever its resize', () => {
    fc.assert(
      fc.property(drawnResize, ({ created, resized, template }) => {
        const seen = withSuccessor(resized, template);
        expect(placementRequests(seen)).toEqual(podRequests(created));
        expect(placementRequests(trimmedPod(seen))).toEqual(podRequests(created));
        expect(podRequests(seen)).toEqual(podRequests(resized));
      }),
      { numRuns: 500 },
    );
  });

  it.each<[string, Partial<ObjectMeta>]>([
    ['that was never resized', { managedFields: [{ subresource: 'status' }], generation: 3 }],
    ['whose spec never changed', { generation: 1 }],
    ['that the vertical pod autoscaler sizes', { ...RESIZED, annotations: { vpaObservedContainers: 'app' } }],
  ])('returns a pod %s unchanged, although the template differs', (_, metadata) => {
    const pod = podWith([sized('app', { cpu: '500m' })], metadata);
    expect(withSuccessor(pod, templateOf(sized('app', { cpu: '2500m' })))).toBe(pod);
  });

  it.each<[string, Partial<ObjectMeta>]>([
    ['managed fields', RESIZED],
    ['the generation, without managed fields', { generation: 2 }],
    ['the template, without other metadata', {}],
  ])('detects a resize by %s', (_, metadata) => {
    const pod = podWith([sized('app', { cpu: '500m' })], metadata);
    expect(placementRequests(withSuccessor(pod, templateOf(sized('app', { cpu: '2500m' })))).cpu).toBe(2500);
  });

  it('uses the requests of a small template for a pod that was resized up', () => {
    const pod = podWith([sized('app', { cpu: '3' })]);
    expect(placementRequests(withSuccessor(pod, templateOf(sized('app', { cpu: '1' })))).cpu).toBe(1000);
  });

  it('uses limits of the template as requests', () => {
    const pod = podWith([sized('app', { cpu: '3' })]);
    const template = templateOf({ name: 'app', resources: { limits: { cpu: '1' } } });
    expect(placementRequests(withSuccessor(pod, template)).cpu).toBe(1000);
  });

  it('uses the spec of the pod without a template, also if its node can never provide it', () => {
    const status = {
      containerStatuses: [{ name: 'app', resources: { requests: { cpu: '2' } } }],
      conditions: [{ type: 'PodResizePending', status: 'True', reason: 'Infeasible' }],
    } as const;
    const pod = { ...podWith([sized('app', { cpu: '6' })]), status };
    expect(podRequests(pod).cpu).toBe(2000);
    expect(placementRequests(withSuccessor(pod, undefined)).cpu).toBe(6000);
  });

  it('returns the same object for the same input', () => {
    const pod = podWith([sized('app', { cpu: '3' })]);
    const template = templateOf(sized('app', { cpu: '1' }));
    expect(withSuccessor(pod, template)).toBe(withSuccessor(pod, template));
  });
});
