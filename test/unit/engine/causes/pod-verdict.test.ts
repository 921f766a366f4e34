import { describe, expect, it } from '@jest/globals';
import { runningText, waitingText } from '../../../../src/engine/causes/pod-verdict.ts';
import { pod } from '../build.ts';

const pending = (reason: string) => ({
  ...pod('web', { nodeName: 'n' }),
  status: {
    conditions: [
      {
        type: 'PodResizePending',
        status: 'True' as const,
        reason,
        message: 'short of cpu',
        lastTransitionTime: '2026-01-01T00:00:00Z',
      },
    ],
  },
});
const REMEDY = 'to move it to a larger node, set the larger request in the template of its controller';

describe('runningText', () => {
  it.each([
    ['Infeasible', 'its resize is infeasible on this node'],
    ['Deferred', 'its resize waits for room on this node'],
  ])('has the remedy for a resize with the reason %s', (reason, state) =>
    expect(runningText(pending(reason), 'n')).toBe(
      `the pod is on node n; ${state} since 2026-01-01T00:00:00Z (short of cpu); ${REMEDY}`,
    ));

  it('names only the node of a pod without a pending resize', () =>
    expect(runningText(pod('web', { nodeName: 'n' }), 'n')).toBe('the pod is on node n'));
});

describe('waitingText', () => {
  it('names the first resource claims of a pod that kube-scheduler may not try without them', () => {
    const resourceClaims = [
      { name: 'gpu', resourceClaimName: 'shared' },
      ...['a', 'b', 'c'].map((name) => ({ name, resourceClaimTemplateName: 'one' })),
    ];
    expect(waitingText({ pod: pod('web', { resourceClaims }), preemption: undefined })).toBe(
      'kube-scheduler has not tried the pod yet, and does not try it until its resource claims exist: ' +
        'shared, a from the template one, b from the template one and 1 more',
    );
  });
});
