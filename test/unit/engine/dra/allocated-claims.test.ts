import { describe, expect, it } from '@jest/globals';
import { type NodeSelectorTerm, type Pod, type ResourceClaim, ZONE_LABEL } from '#api/objects';
import { oneOf, type PodParts, planOf, pod, refusalText, stateNode } from '../build.ts';

const claim = (name: string, ...terms: readonly NodeSelectorTerm[]): ResourceClaim => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name, namespace: 'default' },
  status: { allocation: terms.length === 0 ? {} : { nodeSelector: { nodeSelectorTerms: terms } } },
});
const waiting: ResourceClaim = { ...claim('waiting'), status: {} };
const ending: ResourceClaim = {
  ...claim('ending'),
  metadata: { name: 'ending', namespace: 'default', deletionTimestamp: '2026-01-01T00:00:00Z' },
};
const full: ResourceClaim = {
  ...claim('full'),
  status: {
    allocation: {},
    reservedFor: Array.from({ length: 256 }, (_, at) => ({ resource: 'pods', name: `p${at}`, uid: `u${at}` })),
  },
};
const inZone = (name: string): NodeSelectorTerm => ({ matchExpressions: [oneOf(ZONE_LABEL, `zone-${name}`)] });
const using = (name: string, ...claims: readonly string[]): Pod =>
  pod(name, { cpu: '1', resourceClaims: claims.map((each) => ({ name: each, resourceClaimName: each })) });
/** Pod status in which claims were created from a template. */
const made = (resourceClaimStatuses?: NonNullable<Pod['status']>['resourceClaimStatuses']): Pod => {
  const base = pod('p', { cpu: '1', resourceClaims: [{ name: 'gpu', resourceClaimTemplateName: 'one-gpu' }] });
  return { ...base, status: { ...base.status, ...(resourceClaimStatuses && { resourceClaimStatuses }) } };
};
const planned = (pendingPods: readonly Pod[], ...resourceClaims: readonly ResourceClaim[]) =>
  planOf({ pendingPods, resourceClaims });
const zones = (plan: ReturnType<typeof planOf>) =>
  plan.claims.flatMap(({ requirements }) => requirements.find(({ key }) => key === ZONE_LABEL)?.values ?? []);

const UNSUPPORTED = 'pod has Dynamic Resource Allocation requirements that are not yet supported by Karpenter';

describe('a pod with resource claims', () => {
  it.each<{ parts: PodParts }>([
    { parts: { resourceClaims: [{ name: 'd', resourceClaimName: 'd' }] } },
    { parts: { initContainers: [{ name: 'init', resources: { claims: [{ name: 'd' }] } }] } },
  ])('is refused if dynamic resource allocation is ignored: $parts', ({ parts }) => {
    const plan = planOf({ pendingPods: [pod('p', { cpu: '1', ...parts })] });
    expect(plan.refusals.get('default/p')).toEqual({ code: 'unsupported', text: UNSUPPORTED });
  });

  it('is distinguished from a pod that differs only in its claims', () => {
    const like = (name: string): Pod => pod(name, { cpu: '1' });
    for (const pendingPods of [
      [like('plain'), using('device', 'd')],
      [using('device', 'd'), like('plain')],
    ]) {
      const plan = planOf({ pendingPods });
      expect([...plan.refusals.keys()]).toEqual(['default/device']);
      expect(plan.claims.flatMap(({ pods }) => pods)).toEqual(['default/plain']);
    }
  });

  it('is scheduled to the node of its devices', () => {
    expect(zones(planned([using('p', 'd')], claim('d', inZone('b'))))).toEqual(['zone-b']);
    expect(zones(planned([using('p', 'd')], claim('d', inZone('x'), inZone('c'))))).toEqual(['zone-c']);
    expect(planned([using('p', 'd')], claim('d')).claims).toHaveLength(1);
  });

  it('is scheduled only to a node that has all of its devices', () => {
    const [near, far] = [claim('near', inZone('a'), inZone('b')), claim('far', inZone('b'), inZone('c'))];
    expect(zones(planned([using('p', 'near', 'far')], near, far))).toEqual(['zone-b']);
    const plan = planned([using('p', 'd')], claim('d', inZone('x')));
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'p')).toMatch(/zone-x/);
  });

  it('is refused if no node reaches the devices of all claims', () => {
    const plan = planned([using('p', 'one', 'two')], claim('one', inZone('a')), claim('two', inZone('c')));
    expect(plan.claims).toEqual([]);
    expect(refusalText(plan, 'p')).toContain('in-cluster allocation topology is incompatible');
  });

  it('is scheduled to another node for another claim', () => {
    const plan = planned([using('p', 'one'), using('q', 'two')], claim('one', inZone('a')), claim('two', inZone('c')));
    expect(zones(plan).sort()).toEqual(['zone-a', 'zone-c']);
  });

  it('stays on the node that contains its devices', () => {
    const onNode: NodeSelectorTerm = { matchFields: [oneOf('metadata.name', 'two')] };
    const plan = planOf({
      pendingPods: [using('p', 'd')],
      nodes: [stateNode('one'), stateNode('two')],
      resourceClaims: [claim('d', onNode)],
    });
    expect(plan.placements.map(({ node }) => node)).toEqual(['two']);
    expect(planned([using('p', 'd')], claim('d', onNode)).claims).toEqual([]);
  });

  it.each([
    { when: 'a claim does not exist', pod: using('p', 'gone'), says: 'resourceclaim "default/gone" not found' },
    { when: 'a claim requests no devices', pod: using('p', 'waiting'), says: undefined },
    {
      when: 'the claim of a template has not been created',
      pod: made(),
      says: 'resourceclaim for "gpu" not created yet',
    },
    {
      when: 'the claim of a template belongs to another pod',
      pod: made([{ name: 'gpu', resourceClaimName: 'waiting' }]),
      says: 'resourceclaim "default/waiting" was not created for this pod',
    },
    {
      when: 'a claim is being deleted',
      pod: using('p', 'ending'),
      says: 'resourceclaim "default/ending" is being deleted',
    },
    { when: 'no further pod can use a claim', pod: using('p', 'full'), says: 'resourceclaim in use' },
    { when: 'the claim of a template is not needed', pod: made([{ name: 'gpu' }]), says: undefined },
  ])('is refused or scheduled if $when', ({ pod: one, says }) => {
    expect(refusalText(planned([one], waiting, ending, full), 'p')).toBe(says);
  });
});
