/** The state of the local AWS: one account in one region. Services read and change it; nothing else holds state. */
import type {
  CapacityReservation,
  InstanceTypeInfo,
  LaunchTemplate,
  PlacementGroup,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { Cluster } from '@aws-sdk/client-eks';
import type { Clock } from '../../../kube/clock.ts';
import type { CallBook } from '../calls.ts';
import type { EventBus } from '../events.ts';
import type { FaultBook } from '../faults.ts';
import type { AwsOptions, Catalogue, Zone } from '../options.ts';
import type { Random } from '../random.ts';
import type { PoolMatch, Tags } from '../types.ts';
import type { Machines } from './machines.ts';
import type { SecurityGroup, Subnet, Vpc } from './network.ts';
import type { Queues } from './queues.ts';

export interface StoredImage {
  readonly id: string;
  readonly name: string;
  readonly architecture: 'x86_64' | 'arm64';
  readonly ownerId: string;
  readonly ownerAlias: string | undefined;
  readonly creationDate: string;
  deprecationTime: string | undefined;
  readonly platform: 'linux' | 'windows';
  readonly rootDeviceName: string;
  readonly rootSizeGiB: number;
  readonly state: string;
  tags: Tags;
}

export interface StoredTemplate {
  readonly summary: LaunchTemplate & { readonly LaunchTemplateId: string; readonly LaunchTemplateName: string };
  readonly data: RequestLaunchTemplateData;
  tags: Tags;
}

export interface StoredReservation {
  readonly id: string;
  readonly facts: CapacityReservation;
  readonly instanceType: string;
  readonly zone: string;
  readonly interruptible: boolean;
  available: number;
  tags: Tags;
}

export interface StoredPlacementGroup {
  readonly facts: PlacementGroup;
  readonly id: string;
  readonly name: string;
  tags: Tags;
}

export interface StoredProfile {
  readonly name: string;
  readonly id: string;
  readonly arn: string;
  readonly path: string;
  readonly createdAt: number;
  roles: string[];
  tags: Tags;
}

export interface StoredRole {
  readonly name: string;
  readonly id: string;
  readonly arn: string;
  readonly path: string;
  readonly createdAt: number;
  readonly trustPolicy: string;
  tags: Tags;
}

/** A remembered answer to a request with a client token. */
export interface RememberedAnswer {
  readonly fingerprint: string;
  readonly answer: unknown;
}

export interface Account {
  readonly id: string;
  readonly region: string;
  readonly zones: readonly Zone[];
  readonly clock: Clock;
  readonly options: AwsOptions;
  readonly random: Random;
  readonly catalogue: Catalogue;
  readonly types: ReadonlyMap<string, InstanceTypeInfo>;
  readonly vpcs: Map<string, Vpc>;
  readonly subnets: Map<string, Subnet>;
  readonly securityGroups: Map<string, SecurityGroup>;
  readonly images: Map<string, StoredImage>;
  /** SSM parameters: value, version and date of the last change. */
  readonly parameters: Map<string, { readonly value: string; readonly version: number; readonly changedAt: number }>;
  /** By id. */
  readonly templates: Map<string, StoredTemplate>;
  readonly machines: Machines;
  readonly reservations: Map<string, StoredReservation>;
  readonly placementGroups: Map<string, StoredPlacementGroup>;
  readonly profiles: Map<string, StoredProfile>;
  readonly roles: Map<string, StoredRole>;
  readonly clusters: Map<string, Cluster>;
  readonly queues: Queues;
  readonly events: EventBus;
  readonly faults: FaultBook;
  readonly calls: CallBook;
  readonly answers: Map<string, RememberedAnswer>;
  /** Pools that fleets try before all others. */
  preferred: readonly PoolMatch[];
}

export const zoneId = (account: Account, zone: string): string =>
  account.zones.find((candidate) => candidate.name === zone)?.id ?? '';
