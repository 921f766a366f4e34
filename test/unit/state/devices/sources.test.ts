import { beforeEach, describe, expect, it } from '@jest/globals';
import { type Device, INSTANCE_TYPE_LABEL, type ResourceSlice } from '#api/objects';
import type { DriverTemplate } from '#engine/devices';
import type { StateNode } from '#engine/model';
import { offeredPools } from '#engine/testing';
import { type Declarations, readDeclarations } from '../../../../src/state/devices/declared.ts';
import { TemplateMemory } from '../../../../src/state/devices/memory.ts';
import { DeviceSources } from '../../../../src/state/devices/sources.ts';
import { invalid, partial } from '../../../support/partial.ts';
import { instanceType, nodePool, stateNode } from '../../engine/build.ts';
import { claim, DRIVER, devices, newNode, request, slice, world } from '../../engine/dra/build.ts';
import { type SettableClock, settableClock } from '../../virtualclock.ts';

const POOL = nodePool('default');
const TYPE = instanceType('a');
const STATIC: DriverTemplate = {
  driver: DRIVER,
  source: 'static',
  pools: [{ pool: 'p', devices: devices(1) }],
  runtime: [],
};

let clock: SettableClock;
let nodes: StateNode[];
let slices: ResourceSlice[];
let table: readonly DriverTemplate[];
let declared: string;
let sources: DeviceSources;
let memory: TemplateMemory;
let nodeClassHash: string | undefined;
let otherShapes: string[];

beforeEach(() => {
  clock = settableClock();
  [nodes, slices, table, declared] = [[], [], [], ''];
  [memory, nodeClassHash, otherShapes] = [new TemplateMemory(clock), 'h1', []];
  sources = newSources();
});

/** Sources of a new process. */
const newSources = (): DeviceSources =>
  new DeviceSources({
    ...{ clock, memory, nodeClassHash: () => nodeClassHash, onOtherShape: (driver) => otherShapes.push(driver) },
    launchHash: ({ metadata }) => metadata.annotations?.['karpenter.k8s.aws/ec2nodeclass-hash'],
    cluster: { nodes: () => nodes },
    slices: { list: () => slices },
    cloud: { deviceTemplates: () => table },
    declared: {
      current: async (): Promise<Declarations> =>
        readDeclarations(declared === '' ? [] : [{ metadata: { name: 'm' }, data: { 'd.yaml': declared } }]),
    },
  });

const templates = async () => (await sources.forPool(POOL, [TYPE])).deviceTemplates;
const deviceNames = async () =>
  [...((await templates())?.values() ?? [])]
    .map((each) => offeredPools(each).flatMap((pool) => pool.devices.map(({ name }) => name)))
    .at(0);

function living(name: string, list: readonly Device[], parts: Partial<StateNode> = {}): void {
  const annotations = { 'karpenter.k8s.aws/ec2nodeclass-hash': 'h1' };
  const metadata = { name, annotations, creationTimestamp: `2026-01-0${nodes.length + 1}T00:00:00Z` };
  const node = stateNode(name, { labels: { [INSTANCE_TYPE_LABEL]: 'a' } });
  nodes.push({ ...node, nodeClaim: partial({ metadata, spec: {} }), ...parts });
  slices.push(slice(list, { name: `slice-${name}`, pool: name, nodeName: name }));
}

async function learn(): Promise<void> {
  await templates();
  await clock.advance(30_000);
}

describe('a device of a new node', () => {
  it('is unknown without a source', async () => {
    expect(await templates()).toEqual(new Map());
  });

  it('comes from declarations, then living nodes, then the table of the provider', async () => {
    table = [STATIC];
    expect(await deviceNames()).toEqual(['gpu-0']);
    living('n', devices(2));
    await learn();
    expect(await deviceNames()).toEqual(['gpu-0', 'gpu-1']);
    declared = `driver: ${DRIVER}\npools: [{name: p, devices: [{name: x}]}]`;
    expect(await deviceNames()).toEqual(['x']);
    declared = `driver: ${DRIVER}\npools: []`;
    expect(await deviceNames()).toBeUndefined();
  });

  it('comes from another source for a different driver', async () => {
    table = [STATIC];
    declared = 'driver: other.example.com\npools: [{name: p, devices: [{name: x}]}]';
    expect(await deviceNames()).toEqual(['gpu-0', 'x']);
  });

  it('is the same object until a source changes', async () => {
    table = [STATIC];
    const before = await templates();
    expect(await templates()).toBe(before);
    table = [{ ...STATIC }];
    expect(await templates()).not.toBe(before);
  });

  it('is suspended after a node had other devices', async () => {
    table = [STATIC];
    const place = { nodePool: 'default', type: 'a', driver: DRIVER };
    const suspendedMinutes = (uid: string) => (sources.suspensions.suspend(place, uid, 'no devices') ?? 0) / 60_000;
    expect([suspendedMinutes('1'), suspendedMinutes('1')]).toEqual([10, 0]);
    const until = new Date(clock.now() + 10 * 60_000).toISOString();
    expect(await deviceNames()).toEqual([]);
    expect((await templates())?.get('a')?.suspended).toEqual([{ driver: DRIVER, until, reason: 'no devices' }]);
    expect(sources.promised('default', 'a')?.pools.map(({ driver }) => driver)).toEqual([DRIVER]);
    expect(await templates()).toBe(await templates());
    await clock.advance(10 * 60_000);
    expect(await deviceNames()).toEqual(['gpu-0']);
    expect(suspendedMinutes('2')).toBe(20);
    await clock.advance(5.5 * 60_000);
    // the node was launched before the suspension
    expect([suspendedMinutes('3'), suspendedMinutes('3')]).toEqual([15, 0]);
    await clock.advance(14.5 * 60_000);
    expect(suspendedMinutes('4')).toBe(40);
    for (let at = 5; at < 10; at++) {
      await clock.advance(6 * 3_600_000);
      suspendedMinutes(`${at}`);
    }
    expect(suspendedMinutes('last')).toBe(360);
    expect(await deviceNames()).toEqual([]);
    sources.suspensions.succeeded(place);
    expect(await deviceNames()).toEqual(['gpu-0']);
    expect(suspendedMinutes('4')).toBe(10);
  });

  it('is suspended on all types of a NodePool while three types are suspended', async () => {
    table = [STATIC];
    const suspend = (type: string, nodePool = 'default') =>
      sources.suspensions.suspend({ nodePool, type, driver: DRIVER }, type, `other devices on ${type}`);
    for (const type of ['b', 'c']) suspend(type);
    suspend('d', 'other');
    expect(await deviceNames()).toEqual(['gpu-0']);
    await clock.advance(60_000);
    suspend('d');
    expect(await deviceNames()).toEqual([]);
    expect((await templates())?.get('a')?.suspended).toMatchObject([{ reason: 'other devices on b' }]);
    await clock.advance(9 * 60_000);
    expect(await deviceNames()).toEqual(['gpu-0']);
  });
});

describe('a learned device', () => {
  it('needs slices that were unchanged for 30 seconds', async () => {
    living('n', devices(1));
    expect(await deviceNames()).toBeUndefined();
    await clock.advance(29_000);
    expect(await deviceNames()).toBeUndefined();
    slices = [slice(devices(2), { name: 'slice-n', pool: 'n', nodeName: 'n' })];
    await clock.advance(1_000);
    expect(await deviceNames()).toBeUndefined();
    await clock.advance(30_000);
    expect(await deviceNames()).toEqual(['gpu-0', 'gpu-1']);
  });

  it.each<[string, Partial<StateNode>]>([
    ['is not initialized', { initialized: false }],
    ['is being removed', { markedForDeletion: true }],
    [
      'is drifted',
      {
        nodeClaim: partial({ metadata: { name: 'c' }, status: { conditions: [{ type: 'Drifted', status: 'True' }] } }),
      },
    ],
    ['is not managed', { nodeClaim: invalid(undefined) }],
    ['belongs to another NodePool', { labels: { [INSTANCE_TYPE_LABEL]: 'a', 'karpenter.sh/nodepool': 'other' } }],
  ])('does not come from a node that %s', async (_, parts) => {
    living('n', devices(1), parts);
    await learn();
    expect(await deviceNames()).toBeUndefined();
  });

  it('does not come from a pool that is not complete, or not of the node alone', async () => {
    living('n', devices(1));
    slices = [slice(devices(1), { pool: 'n', nodeName: 'n', resourceSliceCount: 2 })];
    await learn();
    expect(await deviceNames()).toBeUndefined();
  });

  it('keeps no values of its node, but which devices have equal values', async () => {
    const roots = ['x', 'x', 'y', 'y'];
    living(
      'n',
      devices(4, (index) => ({
        attributes: {
          model: { string: 'm' },
          uuid: { string: `u${index}` },
          'resource.kubernetes.io/pcieRoot': { string: roots[index] as string },
        },
        taints: [{ key: 'k', effect: 'NoSchedule' }],
      })),
    );
    await learn();
    const learned = (await templates())?.get('a');
    expect(learned?.pools[0]?.devices[0]).toEqual({ name: 'gpu-0', attributes: { model: { string: 'm' } } });
    expect(learned?.pools[0]?.pool).toBe(`${DRIVER}/0`);
    const pair = (count: number) =>
      claim([request('r', { count })], { constraints: [{ matchAttribute: 'resource.kubernetes.io/pcieRoot' }] });
    const place = (count: number) => world().place([pair(count)], newNode(learned ? { a: learned } : {}));
    expect(place(2)).toEqual({ a: ['r=gpu-0', 'r=gpu-1'] });
    expect(place(3)).toContain('violate the constraint');
  });

  it('drops attributes that differ between nodes, and keeps taints that all nodes have', async () => {
    const of = (slot: string, ...keys: readonly string[]) =>
      devices(1, () => ({
        attributes: { slot: { string: slot }, model: { string: 'm' } },
        taints: keys.map((key) => ({ key, effect: 'NoSchedule' })),
      }));
    living('n', of('1', 'both', 'one'));
    living('m', of('2', 'both'));
    await learn();
    expect((await templates())?.get('a')?.pools[0]?.devices).toEqual([
      { name: 'gpu-0', attributes: { model: { string: 'm' } }, taints: [{ key: 'both', effect: 'NoSchedule' }] },
    ]);
  });

  it('has the shape of the newest node', async () => {
    living('old', devices(2));
    living('new', devices(3));
    await learn();
    expect(await deviceNames()).toHaveLength(3);
    expect(await deviceNames()).toHaveLength(3);
    expect(otherShapes).toEqual([DRIVER]);
  });

  it('is learned again from the living nodes after a restart', async () => {
    const attributes = (index: number) => ({ attributes: { uuid: { string: `u${index}` } } });
    living('n', devices(2, attributes));
    await learn();
    const before = await templates();
    expect(before?.get('a')?.pools[0]?.devices).toHaveLength(2);
    memory = new TemplateMemory(clock);
    sources = newSources();
    await learn();
    expect(await templates()).toEqual(before);
  });

  it('is counted by source', async () => {
    living('n', devices(1));
    await learn();
    await templates();
    expect(sources.counts('default')).toEqual([{ driver: DRIVER, source: 'learned', types: 1 }]);
    expect(sources.counts('other')).toEqual([]);
  });
});

describe('a learned device of a type without nodes', () => {
  const root = 'resource.kubernetes.io/pcieRoot';
  const inRoots = devices(4, (index) => ({ attributes: { [root]: { string: `r${index >> 1}` } } }));
  const learnAndRemove = async (): Promise<void> => {
    living('n', inRoots);
    await learn();
    await templates();
    [nodes, slices] = [[], []];
  };
  const restarted = (): void => {
    const [text = ''] = memory.texts();
    memory = new TemplateMemory(clock);
    memory.restore(text);
    sources = newSources();
  };

  it('is remembered, also after a restart', async () => {
    await learnAndRemove();
    const before = await templates();
    expect(await deviceNames()).toHaveLength(4);
    restarted();
    expect(await templates()).toEqual(before);
    expect(await templates()).toBe(await templates());
    const pair = claim([request('r', { count: 3 })], { constraints: [{ matchAttribute: root }] });
    const all = Object.fromEntries((await templates()) ?? []);
    expect(world().place([pair], newNode(all))).toContain('violate the constraint');
  });

  it('is dropped if the NodeClass changes, but not while the NodeClass is unknown', async () => {
    await learnAndRemove();
    nodeClassHash = undefined;
    expect(await deviceNames()).toBeUndefined();
    nodeClassHash = 'h1';
    expect(await deviceNames()).toHaveLength(4);
    nodeClassHash = 'h2';
    expect(await deviceNames()).toBeUndefined();
    nodeClassHash = 'h1';
    expect(await deviceNames()).toBeUndefined();
  });

  it('is dropped after 30 days without a node', async () => {
    await learnAndRemove();
    await clock.advance(29 * 24 * 3_600_000);
    expect(await deviceNames()).toHaveLength(4);
    await clock.advance(2 * 24 * 3_600_000);
    expect(await deviceNames()).toBeUndefined();
  });

  it('is limited to 256 templates, and changes only if there is something to write', () => {
    const remember = (at: number) =>
      memory.remember({ nodePool: 'p', type: `t${at}`, template: STATIC, nodeClassHash: 'h' });
    for (let at = 0; at < 300; at++) remember(at);
    const { changes } = memory;
    remember(299);
    expect(memory.changes).toBe(changes);
    expect([memory.of('p', 't43', 'h'), memory.of('p', 't44', 'h')]).toEqual([[], [STATIC]]);
    const sizes = [...memory.texts()].map((text) => (JSON.parse(text) as unknown[]).length);
    expect(sizes.slice(0, 3)).toEqual([256, 128, 64]);
    expect(sizes.at(-1)).toBe(0);
  });

  it.each([
    '{}',
    '[{}]',
    '[{"nodePool": "p", "type": "t", "template": {"driver": "d", "pools": [1]}}]',
    'x',
  ])('is not restored from a text that is not valid: %s', (text) => {
    expect(() => memory.restore(text)).toThrow();
  });
});
