/** Devices of replacements, and claims whose pods have moved, in the end state of `simulate --disruption`. */
import { describe, expect, it } from '@jest/globals';
import type { Pod, ResourceClaim } from '#api/objects';
import { PublishedPools } from '#engine/devices';
import { claimsAfter, slicesOfNode } from '../../../src/cli/disruption-devices.ts';
import { pod, stateNode } from '../engine/build.ts';
import { claim, DRIVER, devices, GPU_CLASS, request, template } from '../engine/dra/build.ts';

const ROOT = 'resource.kubernetes.io/pcieRoot';
const TEMPLATE = template(devices(4), {
  runtime: [
    { attribute: 'uuid', driver: DRIVER, unique: true },
    {
      attribute: ROOT,
      same: [
        [0, 1],
        [2, 3],
      ].map((group) => group.map((at) => ({ driver: DRIVER, pool: 'gpus', device: `gpu-${at}` }))),
    },
  ],
});

const using = (name: string, ...claims: readonly string[]): Pod =>
  pod(name, { resourceClaims: claims.map((each) => ({ name: each, resourceClaimName: each })) });

const heldBy = (one: ResourceClaim, ...users: readonly Pod[]): ResourceClaim => ({
  ...one,
  status: {
    allocation: { devices: { results: [{ driver: DRIVER, pool: 'old', device: 'gpu-9', request: 'r' }] } },
    reservedFor: users.map(({ metadata }) => ({ resource: 'pods', name: metadata.name, uid: metadata.uid ?? '' })),
  },
});

const devicesOf = ({ status }: ResourceClaim) => status?.allocation?.devices?.results?.map(({ device }) => device);

describe('a slice of a replacement', () => {
  it('contains the devices of the template, with values for the attributes of running nodes', () => {
    const slices = ['new-1', 'new-2'].flatMap((name) => slicesOfNode(TEMPLATE, name));
    expect(new PublishedPools(slices, []).all.map(({ defect }) => defect)).toEqual([undefined, undefined]);
    const of = (name: string) =>
      slices.flatMap(({ spec }) => spec.devices ?? []).map(({ attributes = {} }) => attributes[name]?.string);
    expect(new Set(of('uuid')).size).toBe(8);
    const [a, b, c, d, other] = of(ROOT);
    expect([a === b, b === c, c === d, a === other]).toEqual([true, false, true, false]);
  });
});

describe('a claim of a pod that moved', () => {
  const moved = (claims: readonly ResourceClaim[], moved: readonly Pod[]) =>
    claimsAfter(
      {
        nodes: [stateNode('new-1')],
        resourceClaims: claims,
        resourceSlices: slicesOfNode(TEMPLATE, 'new-1'),
        deviceClasses: [GPU_CLASS],
      },
      {
        arriving: new Map([['aws:///new-1', moved]]),
        moving: new Set(moved.map(({ metadata }) => metadata.uid ?? '')),
      },
    );

  it('has devices of its new node, each device once', () => {
    const pods = ['a', 'b'].map((name) => using(name, name));
    const claims = pods.map((one) => heldBy(claim([request('r', { count: 2 })], { name: one.metadata.name }), one));
    expect(moved(claims, pods).map(devicesOf)).toEqual([
      ['gpu-0', 'gpu-1'],
      ['gpu-2', 'gpu-3'],
    ]);
  });

  it('is reserved for all pods that share it', () => {
    const pods = ['a', 'b'].map((name) => using(name, 'shared'));
    const [shared] = moved([heldBy(claim([request('r')], { name: 'shared' }), ...pods)], pods);
    expect(devicesOf(shared as ResourceClaim)).toEqual(['gpu-0']);
    expect(shared?.status?.reservedFor?.map(({ name }) => name)).toEqual(['a', 'b']);
  });

  it('keeps its devices if a pod that stays uses them', () => {
    const [mover, stayer] = [using('a', 'shared'), using('b', 'shared')];
    const [shared] = moved([heldBy(claim([request('r')], { name: 'shared' }), mover, stayer)], [mover]);
    expect(devicesOf(shared as ResourceClaim)).toEqual(['gpu-9']);
    expect(shared?.status?.reservedFor?.map(({ name }) => name)).toEqual(['b', 'a']);
  });

  it('has no devices if its new node has none', () => {
    const one = using('a', 'a');
    const [claimless] = moved([heldBy(claim([request('r', { count: 5 })], { name: 'a' }), one)], [one]);
    expect(claimless?.status).toEqual({});
  });
});
