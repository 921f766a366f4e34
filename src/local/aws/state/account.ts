/** State of the local AWS: one account in one region. Services read and change it, and hold no other state. */
import type { InstanceTypeInfo } from '@aws-sdk/client-ec2';
import type { Cluster } from '@aws-sdk/client-eks';
import type { Clock } from '#lib/clock';
import type { CallBook } from '../calls.ts';
import type { EventBus } from '../events.ts';
import type { PoolMatch } from '../fault-rules.ts';
import type { FaultBook } from '../faults.ts';
import type { Catalogue, LocalAwsOptions, Zone } from '../options.ts';
import type { RandomStream } from '../random.ts';
import type { Machines } from './machines.ts';
import type { SecurityGroup, Subnet, Vpc } from './network.ts';
import type { Queues } from './queues.ts';
import type {
  StoredImage,
  StoredPlacementGroup,
  StoredProfile,
  StoredReservation,
  StoredRole,
  StoredTemplate,
} from './stored.ts';

/** Stored response to a request with a client token. */
interface RememberedAnswer {
  readonly fingerprint: string;
  readonly answer: unknown;
}

export interface Account {
  readonly id: string;
  readonly region: string;
  readonly zones: readonly Zone[];
  readonly clock: Clock;
  readonly options: LocalAwsOptions;
  readonly random: RandomStream;
  readonly catalogue: Catalogue;
  readonly types: ReadonlyMap<string, InstanceTypeInfo>;
  readonly vpcs: Map<string, Vpc>;
  readonly subnets: Map<string, Subnet>;
  readonly securityGroups: Map<string, SecurityGroup>;
  readonly images: Map<string, StoredImage>;
  /** SSM parameters: value, version and date of the last change. */
  readonly parameters: Map<string, { readonly value: string; readonly version: number; readonly changedAt: number }>;
  /** Templates by ID. */
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
  /** Number of releases of public images since this account was opened. */
  imageReleases: number;
  /** Publishes the older release that a parameter names, if it is well formed. */
  readonly publishRelease: (parameter: string) => void;
  /** Number of launched instances. */
  launches: number;
  /** Pools that fleets try first. */
  preferred: readonly PoolMatch[];
}

export const zoneId = (account: Account, zone: string): string =>
  account.zones.find((candidate) => candidate.name === zone)?.id ?? '';
