import { describe, expect, it } from '@jest/globals';
import type { NodeClaim } from '#api/objects';
import { launchText, placedVerdict } from '../../../src/planner/pod-verdicts.ts';

const NOW_MS = Date.parse('2026-06-03T10:30:00Z');
const CLAIM = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodeClaim',
  metadata: { name: 'default-a', creationTimestamp: '2026-06-03T10:29:00Z' },
  spec: { nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' }, requirements: [] },
} as unknown as NodeClaim;
const NAME = 'ip-10-0-0-1.internal';

describe('the verdict on a placed pod', () => {
  it('names the NodeClaim of a node that is not initialized, also if its Node exists', () => {
    expect(placedVerdict('default/p', { name: NAME, nodeClaim: CLAIM, initialized: false }, NOW_MS)).toMatchObject({
      code: 'joining',
      text: expect.stringContaining('waits for NodeClaim default-a: '),
    });
  });

  it('names an initialized node, and a node without a NodeClaim', () => {
    const fits = { pod: 'default/p', code: 'fits', text: `the pod fits on node ${NAME}` };
    expect(placedVerdict('default/p', { name: NAME, nodeClaim: CLAIM, initialized: true }, NOW_MS)).toEqual(fits);
    expect(placedVerdict('default/p', { name: NAME }, NOW_MS)).toEqual(fits);
  });
});

describe('the text of a launch', () => {
  it('counts further pods', () => {
    expect(launchText('default', 0)).toBe('NodePool default launches a node for the pod');
    expect(launchText('default', 2)).toBe('NodePool default launches a node for the pod and 2 more');
  });
});
