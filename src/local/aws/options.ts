/** What `startAws` takes and answers. */
import type { _InstanceType, CapacityReservation, Image, InstanceTypeInfo, PlacementGroup } from '@aws-sdk/client-ec2';
import type { Clock } from '../../lib/clock.ts';
import type { PoolMatch } from './fault-rules.ts';
import type { RateLimits } from './rate-limits.ts';
import type { CallLog, Faults, InterruptionQueue, LocalInstances, Pool, Spending, Tags } from './types.ts';

/** Instance types, where they are offered, and what they cost. */
export interface Catalogue {
  readonly types: readonly InstanceTypeInfo[];
  /** Zone names per type. */
  readonly zonesOf: (type: string) => readonly string[];
  /** Dollars an hour on demand; undefined when the type has no list price. */
  readonly onDemandUsd: (type: string) => number | undefined;
  /** Dollars an hour on the spot market of a zone at a time; undefined when there is no market. */
  readonly spotUsd: (type: string, zone: string, atMs: number) => number | undefined;
  /** Spot prices change at multiples of this time since the epoch, if at all; default six hours. */
  readonly spotStepMs?: number;
}

export interface Zone {
  readonly name: string;
  readonly id: string;
}

export interface AwsOptions {
  readonly clock: Clock;
  /** Names the cluster, its node role and the discovery tags. */
  readonly clusterName: string;
  /** Port on 127.0.0.1; 0 or absent picks a free one. */
  readonly port?: number;
  /** Default `us-west-2`. */
  readonly region?: string;
  /** Default: zones a, b, c of the region. */
  readonly zones?: readonly Zone[];
  readonly accountId?: string;
  /** Kubernetes `major.minor`, default `1.34`. */
  readonly kubernetesVersion?: string;
  /** API server address that DescribeCluster reports. */
  readonly clusterEndpoint?: string;
  /** Base64 certificate bundle that DescribeCluster reports. */
  readonly clusterCaBase64?: string;
  readonly serviceIpv4Cidr?: string;
  /** Name of the interruption queue; default the cluster's name. */
  readonly queueName?: string;
  /** `eks` (default): an account with a ready cluster; `empty`: nothing but what is seeded later. */
  readonly account?: 'eks' | 'empty';
  /** Whether the public images and their SSM parameters exist; default true. */
  readonly publicImages?: boolean;
  /** Default: several hundred types made by rule. */
  readonly catalogue?: Catalogue;
  /** How long a new instance is unknown to DescribeInstances and CreateTags; default 0. */
  readonly consistencyDelayMs?: number;
  /** Request throttling of EC2: that of AWS, or one's own; default none. */
  readonly rateLimits?: boolean | RateLimits;
  /** From launch to `running`; default 8000. */
  readonly startDelayMs?: number;
  /** From `shutting-down` to `terminated`; default 15000. */
  readonly stopDelayMs?: number;
  /** How long a terminated instance stays visible; default one hour. */
  readonly terminatedVisibleMs?: number;
  /** Milliseconds between `running` and the kubelet's first sign of life, by the order of launches from 0; default 0. */
  readonly bootDelayMs?: (launch: number) => number;
  /** Whether a pool has no capacity now, beside what faults say; default: none is sold out. */
  readonly isSoldOut?: (pool: Pool, atMs: number) => boolean;
  /** vCPU quotas of the account; absent means none. */
  readonly quotas?: { readonly onDemandVcpus?: number; readonly spotVcpus?: number };
  /** Whether EventBridge forwards state changes to the queue; default true. */
  readonly stateChangeEvents?: boolean;
  /** How many calls the log keeps in full; default 2000. All are counted. */
  readonly keptCalls?: number;
  /** Seed of prices, ids and random faults; default 1. */
  readonly randomSeed?: number;
}

/** Adds objects to the account, beside what `account: 'eks'` holds. Each answers the id or name. */
export interface Seed {
  vpc(vpc?: { readonly id?: string; readonly cidr?: string; readonly tags?: Tags }): string;
  subnet(subnet: {
    readonly zone: string;
    readonly cidr: string;
    readonly id?: string;
    readonly vpcId?: string;
    readonly public?: boolean;
    readonly tags?: Tags;
    /** Overrides what the CIDR leaves free. */
    readonly freeAddresses?: number;
  }): string;
  securityGroup(group: {
    readonly name: string;
    readonly id?: string;
    readonly description?: string;
    readonly vpcId?: string;
    readonly tags?: Tags;
  }): string;
  image(image: ImageSeed): string;
  parameter(name: string, value: string): string;
  role(name: string, path?: string): string;
  instanceProfile(profile: {
    readonly name: string;
    readonly role?: string;
    readonly path?: string;
    readonly tags?: Tags;
  }): string;
  cluster(cluster: ClusterSeed): string;
  queue(name: string): string;
  capacityReservation(reservation: ReservationSeed): string;
  placementGroup(group: PlacementGroupSeed): string;
  /**
   * Publishes a new image of every family for the cluster's version, as of now. Parameters that name the latest one follow.
   */
  newImages(): void;
}

export interface ImageSeed {
  readonly name: string;
  readonly id?: string;
  readonly architecture?: 'x86_64' | 'arm64';
  /** Default: this account. */
  readonly ownerId?: string;
  readonly ownerAlias?: string;
  /** RFC 3339; default now. */
  readonly creationDate?: string;
  readonly deprecationTime?: string;
  readonly platform?: 'linux' | 'windows';
  readonly rootDeviceName?: string;
  readonly rootSizeGiB?: number;
  readonly state?: Image['State'];
  readonly tags?: Tags;
}

export interface ClusterSeed {
  readonly name: string;
  readonly version?: string;
  readonly endpoint?: string;
  readonly caBase64?: string;
  readonly serviceIpv4Cidr?: string;
  readonly serviceIpv6Cidr?: string;
  readonly vpcId?: string;
  readonly subnetIds?: readonly string[];
  readonly securityGroupIds?: readonly string[];
  readonly tags?: Tags;
}

export interface ReservationSeed {
  readonly instanceType: _InstanceType | string;
  readonly zone: string;
  readonly total: number;
  readonly available?: number;
  readonly id?: string;
  readonly ownerId?: string;
  readonly matchCriteria?: CapacityReservation['InstanceMatchCriteria'];
  readonly reservationType?: CapacityReservation['ReservationType'];
  readonly interruptible?: boolean;
  readonly endDateMs?: number;
  readonly tags?: Tags;
}

export interface PlacementGroupSeed {
  readonly name: string;
  readonly strategy: NonNullable<PlacementGroup['Strategy']>;
  readonly id?: string;
  readonly partitions?: number;
  readonly tags?: Tags;
}

/** What becomes of a call in process. */
export interface CallAnswer {
  readonly requestId: string;
  /** In the SDK's types; undefined when there is an error, or when the answer is lost. */
  readonly output?: object;
  readonly error?: CallError;
  /** How a fault broke the exchange; see `FaultRule`. */
  readonly broken?: 'unheard' | 'unanswered' | 'cut' | 'empty';
}

export interface CallError {
  readonly code: string;
  /** The `Code` that SDK clients of the service show beside the error's name; undefined where they show none. */
  readonly shownCode: string | undefined;
  readonly message: string;
  readonly status: number;
  /** Further members of the error. */
  readonly details: Readonly<Record<string, string>>;
}

/** An account, and what a test or a visitor may do to it. */
export interface AwsAccount {
  readonly region: string;
  readonly accountId: string;
  readonly clusterName: string;
  readonly catalogue: Catalogue;
  readonly instances: LocalInstances;
  readonly faults: Faults;
  readonly queue: InterruptionQueue;
  readonly calls: CallLog;
  readonly spending: Spending;
  readonly seed: Seed;
  /** Makes fleets try these pools first, whatever their strategy says: fixes a choice that EC2 leaves open. */
  prefer(...pools: readonly PoolMatch[]): void;
}

/** An account without HTTP. */
export interface OpenAws extends AwsAccount {
  /**
   * Carries one call out, as if an SDK client had sent it: through rate limits, faults and the call log. The input must
   * not change afterwards.
   * @param service  `ec2`, `sqs`, `ssm`, `iam`, `eks`, `pricing` or `sts`
   * @throws RangeError when there is no such service
   */
  call(service: string, action: string, input: object, signal?: AbortSignal): Promise<CallAnswer>;
  /** Ends all timers. */
  close(): void;
}

export interface LocalAws extends AwsAccount {
  /** `http://127.0.0.1:PORT`, for `AWS_ENDPOINT_URL`. */
  readonly url: string;
  /** The environment in which an unmodified SDK or `aws` command talks to this server. */
  env(): Readonly<Record<string, string>>;
  close(): Promise<void>;
}
