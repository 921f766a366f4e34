import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import {
  isRestrictedLabel,
  normalizeLabel,
  requirementErrors,
  restrictionText,
  unknownValues,
  WELL_KNOWN_LABELS,
} from '../../../src/api/labels.ts';
import { labelValueErrors, qualifiedNameErrors } from '../../../src/api/names.ts';

describe('qualifiedNameErrors', () => {
  it.each([
    ['team', 0],
    ['example.com/team', 0],
    ['a', 0],
    [`${'a'.repeat(63)}`, 0],
    [`${'a'.repeat(64)}`, 1],
    ['', 2],
    ['/x', 1],
    ['x/', 2],
    ['a/b/c', 1],
    ['Example.com/a', 1],
    ['has space', 1],
    [`${'a'.repeat(254)}/x`, 1],
  ])('returns for %p %p errors', (key, count) => {
    expect(qualifiedNameErrors(key)).toHaveLength(count);
  });
});

describe('labelValueErrors', () => {
  it.each([
    ['', 0],
    ['ok_1.2-3', 0],
    ['-no', 1],
    ['a'.repeat(64), 1],
    ['no way', 1],
  ])('returns for %p %p errors', (value, count) => {
    expect(labelValueErrors(value)).toHaveLength(count);
  });
});

describe('isRestrictedLabel', () => {
  it.each([
    ['karpenter.sh/nodepool', false],
    ['karpenter.sh/custom', true],
    ['sub.karpenter.sh/x', true],
    ['mykarpenter.sh/x', false],
    ['karpenter.k8s.aws/instance-family', false],
    ['karpenter.k8s.aws/ec2nodeclass', true],
    ['karpenter.k8s.aws/instance-pods', true],
    ['kubernetes.io/hostname', true],
    ['kubernetes.io/arch', false],
    ['node.kubernetes.io/custom', false],
    ['team', false],
  ])('returns for %p: %p', (key, restricted) => {
    expect(isRestrictedLabel(key)).toBe(restricted);
  });

  it('never restricts a well-known label', () => {
    expect([...WELL_KNOWN_LABELS].filter(isRestrictedLabel)).toEqual([]);
  });
});

describe('normalizeLabel', () => {
  it.each([
    ['beta.kubernetes.io/arch', 'kubernetes.io/arch'],
    ['failure-domain.beta.kubernetes.io/zone', 'topology.kubernetes.io/zone'],
    ['topology.ebs.csi.aws.com/zone', 'topology.kubernetes.io/zone'],
    ['team', 'team'],
  ])('normalizes %p to %p', (alias, label) => {
    expect(normalizeLabel(alias)).toBe(label);
  });

  it('is idempotent', () => {
    fc.assert(fc.property(fc.string(), (key) => normalizeLabel(normalizeLabel(key)) === normalizeLabel(key)));
  });
});

describe('requirementErrors', () => {
  const capacityType = 'karpenter.sh/capacity-type';
  it.each([
    [{ key: 'team', operator: 'In', values: ['a'] }, []],
    [{ key: 'team', operator: 'NotIn', values: [] }, []],
    [{ key: 'team', operator: 'Exists' }, []],
    [{ key: 'cores', operator: 'Gt', values: ['4'] }, []],
    [
      { key: 'cores', operator: 'Gt', values: ['4.5'] },
      ['key cores with operator Gt must have a single positive integer value'],
    ],
    [
      { key: 'cores', operator: 'Lte', values: [] },
      ['key cores with operator Lte must have a single positive integer value'],
    ],
    [{ key: 'team', operator: 'In' }, ['key team with operator In must have a value defined']],
    [
      { key: 'team', operator: 'Has' },
      ['key team has an unsupported operator Has not in [DoesNotExist Exists Gt Gte In Lt Lte NotIn]'],
    ],
    [
      { key: 'team', operator: 'In', values: ['a'], minValues: 2 },
      ["key team with operator In must have at least minimum number of values defined in 'values' field"],
    ],
    [{ key: 'karpenter.sh/x', operator: 'Exists' }, [restrictionText('karpenter.sh/x')]],
    [
      { key: capacityType, operator: 'In', values: ['spt'] },
      [`no valid values found in [spt] for ${capacityType}, expected one of: [on-demand spot reserved], got: [spt]`],
    ],
    [{ key: capacityType, operator: 'In', values: ['spot', 'spt'] }, []],
    [
      { key: capacityType, operator: 'In', values: ['spot', 'spt'], minValues: 2 },
      [
        `not enough valid values found in [spot spt] for ${capacityType}, expected at least 2 valid values from: [on-demand spot reserved], got: 1`,
      ],
    ],
    [{ key: 'beta.kubernetes.io/os', operator: 'In', values: ['linux'] }, []],
  ])('returns for %p: %p', (requirement, errors) => {
    expect(requirementErrors(requirement)).toEqual(errors);
  });

  it('distinguishes known from unknown values', () => {
    expect(unknownValues({ key: capacityType, operator: 'In', values: ['spot', 'spt'] })).toEqual({
      valid: ['spot'],
      invalid: ['spt'],
    });
  });
});
