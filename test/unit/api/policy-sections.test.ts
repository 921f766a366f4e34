/** Policies that set a section for a NodePool. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { type NodePolicy, overruledSections, sectionFor } from '#api/objects';
import type { NodePolicySpec } from '#api/testing';

const policy = (name: string, spec: NodePolicySpec, creationTimestamp?: string): NodePolicy => ({
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name, ...(creationTimestamp !== undefined && { creationTimestamp }) },
  spec,
});
const pool = (name: string, labels: Readonly<Record<string, string>> = {}) => ({ metadata: { name, labels } });
const YEAR = (year: number): string => `${year}-01-01T00:00:00Z`;

describe('sectionFor', () => {
  const all = policy('all', { mode: 'Observe' }, YEAR(2020));
  const team = policy('team', { nodePools: { matchLabels: { team: 'a' } }, mode: 'Act' }, YEAR(2021));
  const named = policy('named', { nodePools: { names: ['x', 'y'] }, mode: 'Observe' }, YEAR(2022));

  it.each([
    ['names before labels', pool('x', { team: 'a' }), 'named'],
    ['labels before all', pool('z', { team: 'a' }), 'team'],
    ['all without a more specific policy', pool('z', { team: 'b' }), 'all'],
  ])('prefers %s', (_, nodePool, expected) => {
    for (const policies of [
      [all, team, named],
      [named, team, all],
    ])
      expect(sectionFor(policies, nodePool, 'mode')?.policy.metadata.name).toBe(expected);
  });

  it('prefers the older of equally specific policies, and a stored one to one without a creation time', () => {
    const younger = policy('a', { mode: 'Act' }, YEAR(2021));
    const unstored = policy('b', { mode: 'Act' });
    expect(sectionFor([unstored, younger, all], pool('z'), 'mode')).toEqual({ value: 'Observe', policy: all });
    expect(sectionFor([unstored, younger], pool('z'), 'mode')?.policy).toBe(younger);
  });

  it('takes each section from the most specific policy that sets it', () => {
    const windows = { allowed: [{ start: '20:00' }] };
    const base = policy('base', { windows, mode: 'Act' });
    expect(sectionFor([base, named], pool('x'), 'windows')).toEqual({ value: windows, policy: base });
    expect(sectionFor([base, named], pool('x'), 'mode')?.value).toBe('Observe');
    expect(sectionFor([named], pool('x'), 'windows')).toBeUndefined();
  });

  it('requires all labels of a selector', () => {
    const both = policy('both', { nodePools: { matchLabels: { team: 'a', stage: 'test' } }, mode: 'Observe' });
    expect(sectionFor([both], pool('z', { team: 'a' }), 'mode')).toBeUndefined();
    expect(sectionFor([both], pool('z', { team: 'a', stage: 'test', other: '1' }), 'mode')?.policy).toBe(both);
  });

  it('does not depend on the order of the policies, and names every other policy as overruled', () => {
    const selectors = fc.constantFrom<NodePolicySpec['nodePools']>(
      undefined,
      { matchLabels: { team: 'a' } },
      { names: ['x'] },
    );
    const random = fc.array(fc.record({ nodePools: selectors, year: fc.integer({ min: 2020, max: 2023 }) }), {
      minLength: 1,
      maxLength: 6,
    });
    fc.assert(
      fc.property(random, fc.infiniteStream(fc.nat()), (found, order) => {
        const nodePool = pool('x', { team: 'a' });
        const policies = found.map(({ nodePools, year }, at) =>
          policy(`p${at}`, { ...(nodePools !== undefined && { nodePools }), mode: 'Observe' }, YEAR(year)),
        );
        const keys = new Map(policies.map((each) => [each, order.next().value]));
        const shuffled = policies.toSorted((a, b) => (keys.get(a) ?? 0) - (keys.get(b) ?? 0));
        const inForce = sectionFor(policies, nodePool, 'mode')?.policy.metadata.name;
        expect(sectionFor(shuffled, nodePool, 'mode')?.policy.metadata.name).toBe(inForce);
        const others = policies.map(({ metadata }) => metadata.name).filter((name) => name !== inForce);
        const overruled = overruledSections(shuffled, [nodePool]);
        expect([...overruled.keys()].sort()).toEqual(others.sort());
        for (const [each] of overruled.values()) expect(each).toMatchObject({ by: inForce, nodePool: 'x' });
      }),
    );
  });
});

describe('overruledSections', () => {
  it('names the section, the NodePool, the policy that holds and why', () => {
    const base = policy('base', { mode: 'Act' }, YEAR(2020));
    const later = policy('later', { mode: 'Observe' }, YEAR(2021));
    const named = policy('named', { nodePools: { names: ['x'] }, mode: 'Observe' }, YEAR(2022));
    const overruled = overruledSections([base, later, named], [pool('x'), pool('y')]);
    expect(overruled.get('base')).toEqual([
      expect.objectContaining({ section: 'mode', nodePool: 'x', by: 'named', reason: 'MoreSpecific' }),
    ]);
    expect(overruled.get('later')).toEqual([
      expect.objectContaining({ nodePool: 'x', by: 'named', reason: 'MoreSpecific' }),
      expect.objectContaining({ nodePool: 'y', by: 'base', reason: 'Older' }),
    ]);
    expect(overruled.has('named')).toBe(false);
  });
});
