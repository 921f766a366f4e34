/** Decision on a restart before the eviction of the only ready pod of a Deployment. */
import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import type { Pod } from '#api/objects';
import { type SurgeDeployment, type SurgeStep, surgeRequest, surgeStep } from '#engine/drain';
import { partial } from '../../../support/partial.ts';

const START_MS = Date.parse('2026-06-01T12:00:00Z');
const MINUTE = 60_000;
const time = (ms: number): string => new Date(ms).toISOString();

const podOf = (isReady = true, surge = 'true'): Pod =>
  partial<Pod>({
    metadata: {
      name: 'web-1',
      uid: 'pod',
      creationTimestamp: time(START_MS - 60 * MINUTE),
      annotations: { 'karpenter-ts.sh/surge': surge },
    },
    status: { conditions: [{ type: 'Ready', status: isReady ? 'True' : 'False' }] },
  });

interface Started {
  readonly startedMs?: number | undefined;
  readonly restartedMs?: number | undefined;
}
type Spec = Partial<SurgeDeployment['spec']>;
const deploymentOf = ({ startedMs, restartedMs }: Started = {}, spec: Spec = {}): SurgeDeployment =>
  partial<SurgeDeployment>({
    metadata: {
      name: 'web',
      ...(startedMs !== undefined && { annotations: { 'karpenter-ts.sh/surge-started': time(startedMs) } }),
    },
    spec: {
      replicas: 1,
      template: {
        metadata:
          restartedMs === undefined ? {} : { annotations: { 'kubectl.kubernetes.io/restartedAt': time(restartedMs) } },
        spec: { containers: [] },
      },
      ...spec,
    },
  });

const step = (
  deployment: SurgeDeployment,
  {
    nowMs = START_MS,
    readySinceMs,
    isReady = true,
    hasExclusiveVolume = false,
  }: {
    readonly nowMs?: number;
    readonly readySinceMs?: number | undefined;
    readonly isReady?: boolean;
    readonly hasExclusiveVolume?: boolean;
  } = {},
): SurgeStep =>
  surgeStep({ pod: podOf(isReady), deployment, withinMs: 5 * MINUTE, readySinceMs, hasExclusiveVolume, nowMs });

describe('surgeStep', () => {
  it('starts a restart for the only ready pod', () => {
    expect(step(deploymentOf())).toEqual({ kind: 'start' });
  });

  it('evicts a pod that is not ready, and a pod beside another ready pod', () => {
    expect(step(deploymentOf(), { isReady: false })).toEqual({ kind: 'evict' });
    expect(step(deploymentOf(), { readySinceMs: START_MS - MINUTE })).toEqual({ kind: 'evict' });
  });

  it.each<[string, Spec, boolean, RegExp]>([
    ['a paused Deployment', { paused: true }, false, /paused/],
    ['the strategy Recreate', { strategy: { type: 'Recreate' } }, false, /Recreate/],
    ['maxSurge 0', { strategy: { rollingUpdate: { maxSurge: 0, maxUnavailable: 1 } } }, false, /maxSurge/],
    ['maxSurge 0%', { strategy: { rollingUpdate: { maxSurge: '0%', maxUnavailable: 1 } } }, false, /maxSurge/],
    ['maxUnavailable 1', { strategy: { rollingUpdate: { maxUnavailable: 1 } } }, false, /maxUnavailable/],
    ['maxUnavailable 100%', { strategy: { rollingUpdate: { maxUnavailable: '100%' } } }, false, /maxUnavailable/],
    ['a volume of one node', {}, true, /volume/],
  ])('does not restart a Deployment with %s', (_, spec, hasExclusiveVolume, text) => {
    const found = step(deploymentOf({}, spec), { hasExclusiveVolume });
    expect(found).toEqual({ kind: 'unsupported', text: expect.stringMatching(text) });
  });

  it('ends if another client restores the template', () => {
    expect(step(deploymentOf({ startedMs: START_MS - MINUTE }))).toMatchObject({ kind: 'ended', outcome: 'reverted' });
  });

  it('waits while the Deployment removes the pod itself', () => {
    const deployment = deploymentOf({ startedMs: START_MS - MINUTE, restartedMs: START_MS - MINUTE });
    expect(step(deployment, { readySinceMs: START_MS - 1_000 }).kind).toBe('wait');
    expect(step(deployment, { readySinceMs: START_MS - 20_000 })).toEqual({ kind: 'evict' });
  });

  it('never waits beyond the deadline of the restart without a ready pod, and starts each restart once', () => {
    const minutes = fc.option(fc.integer({ min: -120, max: 120 }), { nil: undefined });
    fc.assert(
      fc.property(minutes, minutes, fc.integer({ min: 0, max: 120 }), (started, restarted, now) => {
        const at = (offset: number | undefined) => (offset === undefined ? undefined : START_MS + offset * MINUTE);
        const nowMs = START_MS + now * MINUTE;
        const startedMs = at(started);
        const found = step(deploymentOf({ startedMs, restartedMs: at(restarted) }), { nowMs });
        if (found.kind === 'wait') expect(nowMs).toBeLessThan((startedMs ?? Number.NaN) + 5 * MINUTE);
        if (found.kind === 'start' && startedMs !== undefined)
          expect(startedMs <= START_MS - 60 * MINUTE || startedMs > nowMs).toBe(true);
      }),
    );
  });
});

describe('surgeRequest', () => {
  it.each([
    ['true', { withinMs: 5 * MINUTE }],
    ['10m', { withinMs: 10 * MINUTE }],
    ['false', undefined],
    ['yes', { error: expect.stringContaining('must be "true" or a duration') }],
    ['0s', { error: expect.any(String) }],
    ['2h', { error: expect.any(String) }],
  ])('reads %p', (text, request) => {
    expect(surgeRequest(podOf(true, text))).toEqual(request);
  });
});
