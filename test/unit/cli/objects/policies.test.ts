/** NodePolicies of manifests. */
import { describe, expect, it } from '@jest/globals';
import type { NodePolicy } from '#api/objects';
import type { NodePolicySpec } from '#api/testing';
import { nodePolicyErrors } from '#api/validation';
import { parseManifests, readManifests } from '#cli/testing';
import { policyNotes } from '../../../../src/cli/objects/policies.ts';
import { reviewOf } from '../../../../src/cli/objects/stored.ts';
import { invalid, partial } from '../../../support/partial.ts';

const policy = (name: string, spec: NodePolicySpec): NodePolicy => ({
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name },
  spec,
});

describe('a NodePolicy', () => {
  const causes = (spec: unknown): readonly string[] =>
    reviewOf(policy('x', spec as NodePolicySpec)).causes.map(({ field }) => field);

  it.each([
    ['a selector without names and labels', { nodePools: {} }, ['spec.nodePools']],
    ['names and labels', { nodePools: { names: ['x'], matchLabels: { a: 'b' } } }, ['spec.nodePools']],
    ['no labels', { nodePools: { matchLabels: {} } }, ['spec.nodePools']],
    ['an unknown mode', { mode: 'Dry' }, ['spec.mode']],
    ['an hour after 23', { windows: { allowed: [{ start: '24:00' }] } }, ['spec.windows.allowed[0].start']],
    ['a share of the price above 100 %', { zones: { balance: '101%' } }, ['spec.zones.balance']],
    ['a worth of preferences without a unit', { preferences: { worth: '0.1' } }, ['spec.preferences.worth']],
    ['no window', { windows: { allowed: [] } }, ['spec.windows.allowed']],
  ])('is rejected with %s', (_, spec, fields) => {
    expect(causes(spec)).toEqual(fields);
  });

  it('names an unknown time zone with its remedy', () => {
    const windows = { timeZone: 'Europe/Berlim', allowed: [{}] };
    expect(causes({ windows })).toEqual([]);
    expect(nodePolicyErrors(policy('x', { windows }))).toEqual([
      'spec.windows.timeZone: "Europe/Berlim" is unknown; use the name of an IANA time zone such as Europe/Berlin',
    ]);
    expect(nodePolicyErrors(policy('x', { windows: { ...windows, timeZone: 'Europe/Berlin' } }))).toEqual([]);
  });

  it('is admitted as in the example', () => {
    const manifests = readManifests(['examples/features/nodepolicy.yaml', 'examples/features/preferences.yaml']);
    for (const { object } of manifests) {
      expect(reviewOf(object)).toEqual({ causes: [], unknown: [] });
      expect(nodePolicyErrors(object as NodePolicy)).toEqual([]);
    }
  });
});

describe('policyNotes', () => {
  const read = (...policies: readonly NodePolicy[]) =>
    policyNotes(
      policies.flatMap((each) => parseManifests(JSON.stringify(each), 'file.yaml')),
      [partial({ metadata: { name: 'x' } })],
    );

  it('returns none for a valid policy', () => {
    expect(read(policy('a', { mode: 'Observe' }))).toEqual([]);
  });

  it('notes an invalid section, and a section that another policy sets', () => {
    const windows = { timeZone: 'Mars/Base', allowed: [{}] };
    const notes = read(
      policy('a', { windows }),
      policy('b', { nodePools: { names: ['x'] }, windows: { allowed: [{}] } }),
    );
    expect(notes).toEqual([
      expect.stringMatching(/NodePolicy a.*: spec\.windows\.timeZone: "Mars\/Base" is unknown/),
      expect.stringMatching(/NodePolicy a.*: windows of NodePool x is set by NodePolicy b instead$/),
    ]);
  });

  it('reports a wait for spot capacity that is too long', () => {
    expect(read(policy('a', { spot: { onDemandAfter: '2h' } }))).toEqual([
      expect.stringContaining('spec.spot.onDemandAfter: 2h must not be longer than 1h'),
    ]);
    expect(read(policy('a', { spot: { onDemandAfter: '1h', share: '70%' } }))).toEqual([]);
  });

  it('rejects a policy that the API server would reject', () => {
    expect(() => read(policy('a', invalid({ mode: 'Dry' })))).toThrow(/NodePolicy a.*spec\.mode/);
    expect(() => read(policy('a', { spot: {} }))).toThrow(/at least one field must be set/);
    expect(() => read(policy('a', { spot: { share: '101%' } }))).toThrow(/spec\.spot\.share/);
  });
});
