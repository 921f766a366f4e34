/** Objects of dynamic resource allocation for tests. Driver `gpu.example.com`, class `gpu`. */
import type {
  Device,
  DeviceClass,
  DeviceConstraint,
  DeviceRequest,
  DeviceRequestDetails,
  DeviceTaintRule,
  ResourceClaim,
  ResourceSlice,
} from '#api/objects';
import { ClaimTable } from '../../../../src/engine/dra/claim-states.ts';
import {
  type Allocation,
  type AllocationRefusal,
  DeviceAllocator,
} from '../../../../src/engine/dra/device-allocator.ts';
import { templatePools } from '../../../../src/engine/dra/device-templates.ts';
import { NO_HOST_DEVICES } from '../../../../src/engine/dra/host-devices.ts';
import { PublishedPools } from '../../../../src/engine/dra/published-pools.ts';
import { SearchBudget } from '../../../../src/engine/dra/search-budget.ts';
import type { DeviceTemplates } from '../../../../src/engine/dra/template-types.ts';
import { Requirements } from '../../../../src/engine/requirements.ts';

export const DRIVER = 'gpu.example.com';

export const deviceClass = (name: string, ...expressions: readonly string[]): DeviceClass => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'DeviceClass',
  metadata: { name },
  spec: { selectors: expressions.map((expression) => ({ cel: { expression } })) },
});

export const GPU_CLASS = deviceClass('gpu', `device.driver == '${DRIVER}'`);

export type ClaimParts = Partial<Pick<ResourceClaim['metadata'], 'name' | 'namespace'>> & {
  readonly constraints?: readonly DeviceConstraint[];
  readonly status?: ResourceClaim['status'];
};

export const claim = (
  requests: readonly DeviceRequest[],
  { name = 'claim', namespace = 'default', constraints, status }: ClaimParts = {},
): ResourceClaim => ({
  apiVersion: 'resource.k8s.io/v1',
  kind: 'ResourceClaim',
  metadata: { name, namespace },
  spec: { devices: { requests, ...(constraints && { constraints }) } },
  ...(status && { status }),
});

export const details = (parts: Partial<DeviceRequestDetails> = {}): DeviceRequestDetails => ({
  deviceClassName: 'gpu',
  ...parts,
});

export const request = (name: string, parts: Partial<DeviceRequestDetails> = {}): DeviceRequest => ({
  name,
  exactly: details(parts),
});

export const selecting = (expression: string): Partial<DeviceRequestDetails> => ({
  selectors: [{ cel: { expression } }],
});

export const devices = (count: number, parts: (index: number) => Partial<Device> = () => ({})): readonly Device[] =>
  Array.from({ length: count }, (_, index) => ({ name: `gpu-${index}`, ...parts(index) }));

type SliceSpec = ResourceSlice['spec'];

export interface SliceParts extends Partial<Omit<SliceSpec, 'pool'>> {
  readonly name?: string;
  readonly pool?: string;
  readonly generation?: number;
  readonly resourceSliceCount?: number;
}

export function slice(list: readonly Device[], parts: SliceParts = {}): ResourceSlice {
  const { name = 'slice', pool = 'pool', generation = 1, resourceSliceCount = 1, driver = DRIVER, ...rest } = parts;
  const isPlaced = rest.nodeSelector ?? rest.allNodes ?? rest.perDeviceNodeSelection;
  return {
    apiVersion: 'resource.k8s.io/v1',
    kind: 'ResourceSlice',
    metadata: { name },
    spec: {
      driver,
      pool: { name: pool, generation, resourceSliceCount },
      devices: list,
      ...(isPlaced === undefined && { nodeName: 'node' }),
      ...rest,
    },
  };
}

export const template = (list: readonly Device[], parts: Partial<DeviceTemplates> = {}): DeviceTemplates => ({
  pools: [{ driver: DRIVER, pool: 'gpus', devices: list }],
  ...parts,
});

export interface WorldParts {
  readonly slices?: readonly ResourceSlice[];
  readonly classes?: readonly DeviceClass[];
  readonly rules?: readonly DeviceTaintRule[];
  readonly claims?: readonly ResourceClaim[];
  readonly movingPods?: readonly string[];
}

export interface Host {
  readonly host: object;
  readonly nodeName?: string;
  readonly requirements?: Requirements;
  /** Templates by type. */
  types?: Readonly<Record<string, DeviceTemplates | undefined>>;
  devices?: Allocation['devices'];
}

/** Cluster with an allocator. */
export function world({
  slices = [],
  classes = [GPU_CLASS],
  rules = [],
  claims = [],
  movingPods = [],
}: WorldParts = {}) {
  const pools = new PublishedPools(slices, rules);
  const table = new ClaimTable(claims, classes, { pools }).whileMoving(new Set(movingPods));
  const allocator = new DeviceAllocator({ pools, use: table.use });
  const allocate = (wanted: readonly ResourceClaim[], on: Host, budget = new SearchBudget()) =>
    allocator.allocate(
      wanted.map((each) => table.stateOf(each)),
      {
        host: on.host,
        place: { nodeName: on.nodeName, requirements: on.requirements ?? Requirements.EMPTY },
        types: Object.entries(on.types ?? { only: undefined }).map(([name, templates]) => ({
          name,
          templates: templates === undefined ? [] : templatePools(templates),
        })),
        devices: on.devices ?? NO_HOST_DEVICES,
      },
      budget,
    );
  return {
    allocate,
    /** Allocates and commits. Returns the devices by type, or the text of the refusal. */
    place(wanted: readonly ResourceClaim[], on: Host): string | Readonly<Record<string, readonly string[]>> {
      const allocation = allocate(wanted, on);
      if ('text' in allocation) return allocation.text;
      on.devices = allocator.commit(on.host, allocation.devices, (type) => allocation.types?.has(type) ?? true);
      const { types } = allocation;
      if (on.types && types)
        on.types = Object.fromEntries(Object.entries(on.types).filter(([name]) => types.has(name)));
      return devicesOf(allocation, wanted);
    },
    commit: (on: Host, isPossible: (type: string) => boolean) => {
      on.devices = allocator.commit(on.host, on.devices ?? NO_HOST_DEVICES, isPossible);
    },
  };
}

/** Returns `request=device` by type. */
export function devicesOf(
  { devices: { byType } }: Allocation,
  claims: readonly ResourceClaim[],
): Readonly<Record<string, readonly string[]>> {
  const ids = claims.map(({ metadata }) => `${metadata.namespace}/${metadata.name}`);
  return Object.fromEntries(
    [...byType].map(([type, own]) => [
      type,
      ids.flatMap((id) =>
        own.claims
          .filter(({ name }) => name === id)
          .flatMap(({ grants }) => grants.map((grant) => `${grant.request}=${grant.device.name}`)),
      ),
    ]),
  );
}

/** Existing node named `node`. */
export const existing = (nodeName = 'node'): Host => ({ host: {}, nodeName });

export const newNode = (types: Readonly<Record<string, DeviceTemplates | undefined>>): Host => ({ host: {}, types });

export const refusal = (result: Allocation | AllocationRefusal): string | undefined =>
  'text' in result ? result.text : undefined;

/** Returns a claim with devices of the pool `pool` on the node `node`, reserved for the pod `p`. */
export const allocated = (name: string, ...results: readonly string[]): ResourceClaim =>
  claim([request('r')], {
    name,
    status: {
      allocation: {
        devices: { results: results.map((device) => ({ driver: DRIVER, pool: 'pool', device })) },
        nodeSelector: {
          nodeSelectorTerms: [{ matchFields: [{ key: 'metadata.name', operator: 'In', values: ['node'] }] }],
        },
      },
      reservedFor: [{ resource: 'pods', name: 'p', uid: 'p' }],
    },
  });
