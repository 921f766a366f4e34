/** Fields of the objects of dynamic resource allocation that this product reads; see `api/kept-fields.ts`. */
import { type FieldsOf, type Keep, NODE_TERM, SELECTOR_REQUIREMENT } from '../kept-fields.ts';
import type { KubeObject } from '../kubernetes.ts';
import type {
  AllocationResult,
  Device,
  DeviceAttribute,
  DeviceClass,
  DeviceRequestDetails,
  DeviceTaint,
  DeviceTaintRule,
  DeviceToleration,
  NodeSelection,
  ResourceClaim,
  ResourceClaimSpec,
  ResourceClaimTemplate,
  ResourceSlice,
} from './objects.ts';

type PartsOf<T extends KubeObject> = FieldsOf<Omit<T, keyof KubeObject>>;

const ATTRIBUTE: FieldsOf<DeviceAttribute> = {
  int: true,
  bool: true,
  string: true,
  version: true,
  ints: true,
  bools: true,
  strings: true,
  versions: true,
};
/** Attributes that identify one device or its addresses. */
const IDENTIFYING: readonly string[] = ['uuid', 'parentUUID', 'serial', 'mac', 'ipv4', 'ipv6', 'alias'].flatMap(
  (name) => [name, `gpu.nvidia.com/${name}`, `dra.net/${name}`],
);

const TAINT: FieldsOf<DeviceTaint> = { key: true, value: true, effect: true };

const PLACE: FieldsOf<NodeSelection> = {
  nodeName: true,
  nodeSelector: { nodeSelectorTerms: NODE_TERM },
  allNodes: true,
};

const DEVICE: FieldsOf<Device> = {
  ...PLACE,
  name: true,
  attributes: { ...Object.fromEntries(IDENTIFYING.map((name) => [name, false])), '*': ATTRIBUTE },
  capacity: {
    '*': {
      value: true,
      requestPolicy: { default: true, validValues: true, validRange: { min: true, max: true, step: true } },
    },
  },
  consumesCounters: { counterSet: true, counters: { '*': { value: true } } },
  taints: TAINT,
  allowMultipleAllocations: true,
  bindsToNode: true,
  bindingConditions: true,
  bindingFailureConditions: true,
  nodeAllocatableResources: false,
  derivedAttributes: false,
  compatibilityGroups: false,
};

const TOLERATION: FieldsOf<DeviceToleration> = { key: true, operator: true, value: true, effect: true };
const SELECTORS = { cel: { expression: true } } as const;

const REQUEST: FieldsOf<DeviceRequestDetails> = {
  deviceClassName: true,
  selectors: SELECTORS,
  allocationMode: true,
  count: true,
  adminAccess: true,
  tolerations: TOLERATION,
  capacity: { requests: 'map' },
};

const CLAIM_SPEC: FieldsOf<ResourceClaimSpec> = {
  devices: {
    requests: { name: true, exactly: REQUEST, firstAvailable: { ...REQUEST, name: true } },
    constraints: { requests: true, matchAttribute: true, distinctAttribute: true },
  },
};

const ALLOCATION: FieldsOf<AllocationResult> = {
  devices: {
    results: {
      request: true,
      driver: true,
      pool: true,
      device: true,
      adminAccess: true,
      shareID: true,
      consumedCapacity: 'map',
    },
  },
  nodeSelector: { nodeSelectorTerms: NODE_TERM },
};

/** Rule for a document that declares the devices of new nodes. */
export const KEPT_DECLARATION_FIELDS: Keep = {
  driver: true,
  weight: true,
  requirements: SELECTOR_REQUIREMENT,
  pools: { name: true, devices: DEVICE, sharedCounters: { name: true, counters: { '*': { value: true } } } },
  runtime: { attribute: true, same: true, unique: true, disjoint: true },
};

/** Rules by kind. They leave out the parameters for drivers, and the data that drivers report. */
export const KEPT_DEVICE_FIELDS: Readonly<Record<string, Keep>> = {
  ResourceClaim: {
    spec: CLAIM_SPEC,
    status: { allocation: ALLOCATION, reservedFor: { apiGroup: true, resource: true, name: true, uid: true } },
  } satisfies PartsOf<ResourceClaim>,
  ResourceClaimTemplate: {
    spec: { metadata: { labels: 'map' }, spec: CLAIM_SPEC },
  } satisfies PartsOf<ResourceClaimTemplate>,
  DeviceClass: { spec: { selectors: SELECTORS, extendedResourceName: true } } satisfies PartsOf<DeviceClass>,
  ResourceSlice: {
    spec: {
      ...PLACE,
      driver: true,
      pool: { name: true, generation: true, resourceSliceCount: true },
      perDeviceNodeSelection: true,
      devices: DEVICE,
      sharedCounters: { name: true, counters: { '*': { value: true } } },
    },
  } satisfies PartsOf<ResourceSlice>,
  DeviceTaintRule: {
    spec: { deviceSelector: { driver: true, pool: true, device: true }, taint: TAINT },
  } satisfies PartsOf<DeviceTaintRule>,
};
