/** Objects of dynamic resource allocation, `resource.k8s.io/v1`. Only the fields that decide where devices can be used. */
import type { KubeObject, NodeSelectorTerm, Quantity, StringMap } from '../kubernetes.ts';

export interface NodeSelector {
  readonly nodeSelectorTerms: readonly NodeSelectorTerm[];
}

/** Value of an attribute: exactly one of the fields. The lists are alpha in Kubernetes 1.37. */
export interface DeviceAttribute {
  readonly int?: number;
  readonly bool?: boolean;
  readonly string?: string;
  readonly version?: string;
  readonly ints?: readonly number[];
  readonly bools?: readonly boolean[];
  readonly strings?: readonly string[];
  readonly versions?: readonly string[];
}

/** Amounts that a request can consume of a capacity of a shared device. */
export interface CapacityRequestPolicy {
  readonly default?: Quantity;
  readonly validValues?: readonly Quantity[];
  readonly validRange?: { readonly min: Quantity; readonly max?: Quantity; readonly step?: Quantity };
}

export interface DeviceCapacity {
  readonly value: Quantity;
  readonly requestPolicy?: CapacityRequestPolicy;
}

export interface Counter {
  readonly value: Quantity;
}

export interface CounterSet {
  readonly name: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

export interface CounterConsumption {
  readonly counterSet: string;
  readonly counters: Readonly<Record<string, Counter>>;
}

/** Effects besides `NoSchedule` and `NoExecute` have no influence on the allocation. */
export interface DeviceTaint {
  readonly key: string;
  readonly value?: string;
  readonly effect: string;
}

export interface DeviceToleration {
  readonly key?: string;
  readonly operator?: string;
  readonly value?: string;
  readonly effect?: string;
}

/** Nodes that can use a device, in a slice or in a device. */
export interface NodeSelection {
  readonly nodeName?: string;
  readonly nodeSelector?: NodeSelector;
  readonly allNodes?: boolean;
}

export interface Device extends NodeSelection {
  readonly name: string;
  readonly attributes?: Readonly<Record<string, DeviceAttribute>>;
  readonly capacity?: Readonly<Record<string, DeviceCapacity>>;
  readonly consumesCounters?: readonly CounterConsumption[];
  readonly taints?: readonly DeviceTaint[];
  readonly allowMultipleAllocations?: boolean;
  readonly bindsToNode?: boolean;
  readonly bindingConditions?: readonly string[];
  readonly bindingFailureConditions?: readonly string[];
  /** Alpha features that are not supported. */
  readonly nodeAllocatableResources?: unknown;
  readonly derivedAttributes?: unknown;
  readonly compatibilityGroups?: unknown;
}

export interface ResourcePool {
  readonly name: string;
  readonly generation: number;
  readonly resourceSliceCount: number;
}

export interface ResourceSlice extends KubeObject {
  readonly spec: NodeSelection & {
    readonly driver: string;
    readonly pool: ResourcePool;
    readonly perDeviceNodeSelection?: boolean;
    readonly devices?: readonly Device[];
    readonly sharedCounters?: readonly CounterSet[];
  };
}

export interface DeviceSelector {
  readonly cel?: { readonly expression: string };
}

export interface DeviceClass extends KubeObject {
  readonly spec: {
    readonly selectors?: readonly DeviceSelector[];
    readonly extendedResourceName?: string;
  };
}

/** Request for devices: `exactly` of a request, or one of its alternatives. */
export interface DeviceRequestDetails {
  readonly deviceClassName: string;
  readonly selectors?: readonly DeviceSelector[];
  readonly allocationMode?: string;
  readonly count?: number;
  readonly adminAccess?: boolean;
  readonly tolerations?: readonly DeviceToleration[];
  readonly capacity?: { readonly requests?: Readonly<Record<string, Quantity>> };
}

export interface DeviceRequest {
  readonly name: string;
  readonly exactly?: DeviceRequestDetails;
  readonly firstAvailable?: readonly (DeviceRequestDetails & { readonly name: string })[];
}

export interface DeviceConstraint {
  readonly requests?: readonly string[];
  readonly matchAttribute?: string;
  readonly distinctAttribute?: string;
}

export interface ResourceClaimSpec {
  readonly devices?: {
    readonly requests?: readonly DeviceRequest[];
    readonly constraints?: readonly DeviceConstraint[];
  };
}

export interface AllocatedDevice {
  readonly request?: string;
  readonly driver: string;
  readonly pool: string;
  readonly device: string;
  readonly adminAccess?: boolean;
  readonly shareID?: string;
  readonly consumedCapacity?: Readonly<Record<string, Quantity>>;
}

export interface AllocationResult {
  readonly devices?: { readonly results?: readonly AllocatedDevice[] };
  readonly nodeSelector?: NodeSelector;
}

export interface ClaimConsumer {
  readonly apiGroup?: string;
  readonly resource: string;
  readonly name: string;
  readonly uid: string;
}

export interface ResourceClaim extends KubeObject {
  readonly spec?: ResourceClaimSpec;
  readonly status?: {
    readonly allocation?: AllocationResult;
    readonly reservedFor?: readonly ClaimConsumer[];
  };
}

export interface ResourceClaimTemplate extends KubeObject {
  readonly spec: {
    readonly metadata?: { readonly labels?: StringMap; readonly annotations?: StringMap };
    readonly spec: ResourceClaimSpec;
  };
}

export interface DeviceTaintRule extends KubeObject {
  readonly spec: {
    readonly deviceSelector?: { readonly driver?: string; readonly pool?: string; readonly device?: string };
    readonly taint: DeviceTaint;
  };
}
