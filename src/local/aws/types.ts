/** What the local AWS shows to the rest of the local world: instances, faults, queue, calls, money. */
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

/** One machine, as a kubelet on it or a test sees it. Fields that change over its life do so in place. */
export interface LocalInstance {
  readonly id: string;
  readonly type: string;
  /** The type's entry in the catalogue: vCPU, memory, GPUs, network. */
  readonly hardware: InstanceTypeInfo;
  readonly zone: string;
  readonly zoneId: string;
  readonly capacityType: CapacityType;
  readonly state: InstanceState;
  /** Milliseconds since the epoch on the local world's clock. */
  readonly launchedAt: number;
  readonly imageId: string;
  readonly imageName: string;
  readonly architecture: 'x86_64' | 'arm64';
  readonly platform: 'linux' | 'windows';
  /** User data, decoded from base64; empty when none was given. */
  readonly userData: string;
  readonly subnetId: string;
  readonly vpcId: string;
  readonly privateIp: string;
  /** `ip-10-0-0-5.us-west-2.compute.internal`, the node name under default EKS settings. */
  readonly privateDnsName: string;
  readonly publicIp?: string;
  readonly securityGroupIds: readonly string[];
  /** Name of the instance profile; empty when none was given. */
  readonly instanceProfile: string;
  readonly volumes: readonly Volume[];
  /** Network interfaces: `interface`, `efa` or `efa-only`. */
  readonly interfaces: readonly { readonly type: string }[];
  readonly tags: Tags;
  readonly fleetId?: string;
  readonly launchTemplateName?: string;
  readonly capacityReservationId?: string;
  readonly partition?: number;
  /** Dollars an hour at launch. */
  readonly usdPerHour: number;
  /** False when a fault says that the machine boots but its kubelet never joins the cluster. */
  readonly joins: boolean;
  /** Extra delay, in milliseconds, between `running` and the kubelet's first sign of life. */
  readonly bootDelayMs: number;
}

/** Called after an instance was created (`previous` undefined) and after each change of its state. */
export type InstanceListener = (instance: LocalInstance, previous: InstanceState | undefined) => void;

export interface LocalInstances {
  /** Every instance still known, terminated ones included until they fade from DescribeInstances. */
  list(): readonly LocalInstance[];
  get(id: string): LocalInstance | undefined;
  /** Answers a function that ends the subscription. */
  subscribe(listener: InstanceListener): () => void;
}

/** Capacity of one kind in one place. */
export interface Pool {
  readonly instanceType: string;
  readonly zone: string;
  readonly capacityType: CapacityType;
}

export interface Faults {
  /** Switches a fault on and answers its id. Throws a RangeError that names the field when the rule makes no sense. */
  add(rule: FaultRule): string;
  /** Switches one fault off, or all. */
  clear(id?: string): void;
  list(): readonly { readonly id: string; readonly rule: FaultRule; readonly left?: number }[];

  /** Warns of a spot interruption now and terminates the instance two minutes later. */
  interrupt(instanceId: string): void;
  /** Recommends to rebalance: the instance is at elevated risk of interruption. */
  recommendRebalance(instanceId: string): void;
  /** AWS Health announces maintenance; DescribeInstanceStatus shows it, too. */
  scheduleChange(instanceId: string, code?: string): void;
  /** Stops the instance from outside, as an operator in the console would. */
  stop(instanceId: string): void;
  /** Terminates the instance from outside. */
  terminate(instanceId: string): void;
  /** Fails an instance or system status check from now on. */
  impair(instanceId: string, check?: 'instance' | 'system'): void;
  /** Ends impairment and scheduled changes. */
  recover(instanceId: string): void;
}

export interface RecordedCall {
  readonly service: string;
  readonly action: string;
  /** The request, in the SDK's member names. */
  readonly input: Readonly<Record<string, unknown>>;
  readonly atMs: number;
  /** Absent while the call is under way and when it succeeded; `unheard`, `unanswered` or `cut` for broken ones. */
  readonly errorCode?: string;
}

export interface CallLog {
  /** Calls per action, in order of first use. */
  counts(): Readonly<Record<string, number>>;
  /** The latest calls, oldest first; of one action when given. */
  recorded(action?: string): readonly RecordedCall[];
  clear(): void;
}

export interface InterruptionQueue {
  readonly name: string;
  readonly url: string;
  /** Puts a message body on the queue: text as it is, anything else as JSON. */
  send(body: unknown): void;
  /** Messages on the queue, in flight or not. */
  size(): number;
}

export interface Spending {
  /** Dollars spent so far on one instance, or on all that ever ran. */
  usd(instanceId?: string): number;
  /** What the instances now pending or running cost in an hour. */
  usdPerHour(): number;
}
