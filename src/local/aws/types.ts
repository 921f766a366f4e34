/** Interface of the local AWS for the rest of the local world: instances, faults, queue, calls, costs. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { FaultRule } from './fault-rules.ts';

export type CapacityType = 'on-demand' | 'spot' | 'reserved';

export type InstanceState = 'pending' | 'running' | 'stopping' | 'stopped' | 'shutting-down' | 'terminated';

export type Tags = Readonly<Record<string, string>>;

export interface Volume {
  readonly id: string;
  readonly deviceName: string;
  readonly sizeGiB: number;
  readonly volumeType: string;
}

/** An instance for kubelets and tests. Fields that change are mutated in place. */
export interface LocalInstance {
  readonly id: string;
  readonly type: string;
  /** Catalogue entry of the type: vCPU, memory, GPUs, network. */
  readonly hardware: InstanceTypeInfo;
  readonly zone: string;
  readonly zoneId: string;
  readonly capacityType: CapacityType;
  readonly state: InstanceState;
  /** Number of reboots since the launch. */
  readonly boots: number;
  /** Milliseconds since the epoch on the local world's clock. */
  readonly launchedAt: number;
  readonly imageId: string;
  readonly imageName: string;
  readonly architecture: 'x86_64' | 'arm64';
  readonly platform: 'linux' | 'windows';
  /** User data, decoded from base64. Empty without it. */
  readonly userData: string;
  readonly subnetId: string;
  readonly vpcId: string;
  readonly privateIp: string;
  /** Present if the launch requests an IPv6 address. */
  readonly ipv6Address?: string;
  /** `ip-10-0-0-5.us-west-2.compute.internal`, the node name with default EKS settings. */
  readonly privateDnsName: string;
  readonly publicIp?: string;
  readonly securityGroupIds: readonly string[];
  /** Name of the instance profile. Empty without it. */
  readonly instanceProfile: string;
  readonly volumes: readonly Volume[];
  /** Network interfaces: `interface`, `efa` or `efa-only`. */
  readonly interfaces: readonly { readonly type: string }[];
  readonly tags: Tags;
  readonly fleetId?: string;
  readonly launchTemplateName?: string;
  readonly capacityReservationId?: string;
  readonly partition?: number;
  /** USD per hour at launch. */
  readonly usdPerHour: number;
  /** False if a fault prevents the kubelet from joining the cluster. */
  readonly joins: boolean;
  /** Additional delay in milliseconds between `running` and the start of the kubelet. */
  readonly bootDelayMs: number;
}

/** Called after the creation of an instance (`previous` is undefined) and after each change of its state. */
export type InstanceListener = (instance: LocalInstance, previous: InstanceState | undefined) => void;

export interface LocalInstances {
  /** Returns all known instances, including terminated ones until DescribeInstances no longer returns them. */
  list(): readonly LocalInstance[];
  get(id: string): LocalInstance | undefined;
  /** Returns a function that ends the subscription. */
  subscribe(listener: InstanceListener): () => void;
}

/** A capacity pool: type, zone and capacity type. */
export interface Pool {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
}

export interface Faults {
  /** Adds a fault and returns its ID. @throws RangeError that names the field of an invalid rule */
  add(rule: FaultRule): string;
  /** Removes one fault, or all faults. */
  clear(id?: string): void;
  list(): readonly { readonly id: string; readonly rule: FaultRule; readonly left?: number }[];

  /** Sends a spot interruption warning and terminates this instance two minutes later. */
  interrupt(instanceId: string): void;
  /** Sends a rebalance recommendation, because this instance has an elevated risk of interruption. */
  recommendRebalance(instanceId: string): void;
  /** Announces maintenance by AWS Health and in DescribeInstanceStatus. */
  scheduleChange(instanceId: string, code?: string): void;
  /** Stops this instance like a user in the console. */
  stop(instanceId: string): void;
  /** Terminates this instance like a user in the console. */
  terminate(instanceId: string): void;
  /** Makes an instance or system status check fail from now on. */
  impair(instanceId: string, check?: 'instance' | 'system'): void;
  /** Removes failed status checks and scheduled changes. */
  recover(instanceId: string): void;
}

export interface RecordedCall {
  readonly service: string;
  readonly action: string;
  /** The request with the member names of the SDK. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /**
   * Undefined while this call is in progress and after it succeeded. `unheard`, `unanswered` or `cut` for a broken
   * exchange.
   */
  readonly errorCode?: string;
}

export interface CallLog {
  /** Returns the number of calls per action, in order of first use. */
  counts(): Readonly<Record<string, number>>;
  /** Returns the latest calls, oldest first, of one action or of all. */
  recorded(action?: string): readonly RecordedCall[];
  clear(): void;
}

export interface InterruptionQueue {
  readonly name: string;
  readonly url: string;
  /** Sends a message body to this queue: a string unchanged, other values as JSON. */
  send(body: unknown): void;
  /** Returns the number of messages in this queue, including those in flight. */
  size(): number;
}

export interface Spending {
  /** Returns the cost so far of one instance, or of all, in USD. */
  usd(instanceId?: string): number;
  /** Returns the current cost per hour of pending and running instances. */
  usdPerHour(): number;
}
