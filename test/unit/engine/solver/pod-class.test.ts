import { describe, expect, it } from '@jest/globals';
import type { Pod } from '#api/objects';
import { virtualPods } from '../../../../src/engine/capacity-buffers.ts';
import { planOf, pod } from '../build.ts';

describe('a virtual pod', () => {
  it('is distinguished from a real pod with an equal spec', () => {
    const real = pod('real', { cpu: '1', nodeSelector: { 'kubernetes.io/hostname': 'h' } });
    const [virtual] = virtualPods({ metadata: { name: 'b', namespace: 'default', uid: 'b' } }, real, 1, 0);
    if (virtual === undefined) throw new Error('no virtual pod');
    const alike: Pod = { ...virtual, spec: real.spec };
    for (const pendingPods of [
      [alike, real],
      [real, alike],
    ])
      expect(planOf({ pendingPods }).refusals.get('default/real')?.code).toBe('ignored');
  });
});
