/** Reserved offerings: held by all possible claims, awaited in provisioning, optional in simulations. */
import { describe, expect, it } from '@jest/globals';
import { CAPACITY_RESERVATION_ID_LABEL, CAPACITY_TYPE_LABEL, ZONE_LABEL } from '#api/objects';
import type { InstanceType, Offering, PlannedClaim } from '../../../../src/engine/model.ts';
import { instanceType, nodePool, offering, oneOf, planOf, replicas } from '../build.ts';

const reserved = (id: string, left: number, zone = 'zone-a'): Offering => ({
  requirements: [
    oneOf(CAPACITY_TYPE_LABEL, 'reserved'),
    oneOf('topology.kubernetes.io/zone', zone),
    oneOf(CAPACITY_RESERVATION_ID_LABEL, id),
  ],
  usdPerHour: 0.001,
  available: true,
  reservationCapacity: left,
});

const type = (name: string, cpu: number, ...more: readonly Offering[]): InstanceType =>
  instanceType(name, {
    cpu,
    capacityTypes: ['on-demand', 'reserved'],
    offerings: [offering('on-demand', 'zone-a', cpu / 10), ...more],
  });

const valuesOf = (claim: PlannedClaim | undefined, key: string): readonly string[] | undefined =>
  claim?.requirements.find((requirement) => requirement.key === key)?.values;

/** Pods that each fill a node of 4 CPUs. */
const pods = (count: number) => replicas(count, 'web', { cpu: '3' });

describe('a reserved offering', () => {
  it('limits the claims that hold it to reserved capacity at its price', () => {
    const types = [type('medium', 4, reserved('cr-1', 2)), type('large', 8)];
    const { claims } = planOf({ types, pendingPods: pods(1) });
    expect(claims).toHaveLength(1);
    expect(valuesOf(claims[0], CAPACITY_TYPE_LABEL)).toEqual(['reserved']);
    expect(valuesOf(claims[0], CAPACITY_RESERVATION_ID_LABEL)).toEqual(['cr-1']);
    expect(claims[0]).toMatchObject({ instanceTypes: ['medium'], cheapest: 'medium', usdPerHour: 0.001 });
  });

  it('lets pods that could use it wait if none is left, without relaxing preferences', () => {
    const types = [type('medium', 4, reserved('cr-1', 2))];
    const { claims, refusals } = planOf({ types, pendingPods: pods(3) });
    expect(claims).toHaveLength(2);
    expect([...refusals.values()]).toEqual([
      {
        code: 'reserved-capacity',
        text: 'one or more instance types with compatible reserved offerings are available, but could not be reserved',
      },
    ]);
  });

  it('is not awaited by pods that cannot use it', () => {
    const types = [type('medium', 4, reserved('cr-1', 0))];
    const onDemand = replicas(1, 'web', { cpu: '3', nodeSelector: { [CAPACITY_TYPE_LABEL]: 'on-demand' } });
    const { claims, refusals } = planOf({ types, pendingPods: onDemand });
    expect(refusals.size).toBe(0);
    expect(valuesOf(claims[0], CAPACITY_TYPE_LABEL)).toEqual(['on-demand']);
  });

  it('excludes NodePools with less weight for waiting pods', () => {
    const types = [type('medium', 4, reserved('cr-1', 0))];
    const pools = [nodePool('heavy', { weight: 10 }), nodePool('light')];
    expect(planOf({ types, pools, pendingPods: pods(1) }).claims).toEqual([]);
  });

  it('is held once by every claim that could use it, and released when the claim cannot use it anymore', () => {
    const types = [type('medium', 4, reserved('cr-1', 1)), type('large', 8, reserved('cr-2', 2))];
    // The second pod makes the first claim too large for cr-1, and a second claim then uses cr-1.
    const { claims, refusals } = planOf({ types, pendingPods: [...pods(2), ...replicas(1, 'big', { cpu: '7' })] });
    expect(refusals.size).toBe(0);
    expect(claims.map((claim) => valuesOf(claim, CAPACITY_RESERVATION_ID_LABEL))).toEqual([['cr-2'], ['cr-2']]);
  });

  it('is counted by the lowest number of all offerings', () => {
    const types = [type('medium', 4, reserved('cr-1', 5)), type('twin', 4, reserved('cr-1', 1))];
    expect(planOf({ types, pendingPods: pods(3) }).claims).toHaveLength(1);
  });

  it('is optional in fallback mode', () => {
    const types = [type('medium', 4, reserved('cr-1', 1))];
    const { claims, refusals } = planOf({ types, pendingPods: pods(3) }, { reservedMode: 'fallback' });
    expect(refusals.size).toBe(0);
    expect(claims.map((claim) => valuesOf(claim, CAPACITY_RESERVATION_ID_LABEL))).toEqual([
      ['cr-1'],
      undefined,
      undefined,
    ]);
  });

  it('does not keep a pod from a claim after the pod relaxed the preference against it', () => {
    const apart = {
      podAntiAffinity: {
        preferredDuringSchedulingIgnoredDuringExecution: [
          { weight: 1, podAffinityTerm: { topologyKey: ZONE_LABEL, labelSelector: { matchLabels: { app: 'web' } } } },
        ],
      },
    };
    const pools = [nodePool('default', { limits: { cpu: '8' } })];
    const types = [type('large', 8, reserved('cr-1', 1))];
    const web = replicas(1, 'web', { cpu: '3', labels: { app: 'web' }, nodeSelector: { [ZONE_LABEL]: 'zone-a' } });
    const pendingPods = [...web, ...replicas(1, 'apart', { cpu: '2', affinity: apart })];
    const { claims, refusals } = planOf({ pools, types, pendingPods });
    expect(refusals.size).toBe(0);
    expect(claims.map((claim) => claim.pods)).toEqual([['default/web-0', 'default/apart-0']]);
  });

  it('is ignored if the feature gate is disabled', () => {
    const types = [type('medium', 4, reserved('cr-1', 1))];
    const { claims } = planOf({ types, pendingPods: pods(1) }, { reservedMode: 'off' });
    expect(valuesOf(claims[0], CAPACITY_TYPE_LABEL)).toEqual(['on-demand']);
    expect(claims[0]?.usdPerHour).toBe(0.4);
  });
});
