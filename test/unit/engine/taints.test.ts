import { describe, expect, it } from '@jest/globals';
import { isAdmitted, toleratesAll } from '../../../src/engine/taints.ts';

const soft = { key: 'team', value: 'blue', effect: 'PreferNoSchedule' } as const;
const hard = { key: 'team', value: 'blue', effect: 'NoSchedule' } as const;
const toleration = { key: 'team', operator: 'Exists' } as const;

describe('a soft taint', () => {
  it('does not keep pods from an existing node', () => {
    expect(isAdmitted([], [soft])).toBe(true);
    expect(isAdmitted(undefined, [])).toBe(true);
    expect(isAdmitted([], [soft, hard])).toBe(false);
    expect(isAdmitted([toleration], [soft, hard])).toBe(true);
  });

  it('counts for new nodes', () => {
    expect(toleratesAll([], [soft])).toBe(false);
    expect(toleratesAll([toleration], [soft])).toBe(true);
  });
});
