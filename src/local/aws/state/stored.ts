/** What the account keeps of the things that its calls make. */
import type {
  CapacityReservation,
  LaunchTemplate,
  PlacementGroup,
  RequestLaunchTemplateData,
} from '@aws-sdk/client-ec2';
import type { Tags } from '../types.ts';

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
  facts: CapacityReservation;
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

export interface RolePolicy {
  readonly document: string;
  /** Ids of the faults by which what it denies fails. */
  readonly faults: readonly string[];
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
  /** Policies that stand in the role itself, by name. */
  readonly policies: Map<string, RolePolicy>;
  /** ARNs of managed policies. */
  readonly attached: Set<string>;
  readonly name: string;
  readonly id: string;
  readonly arn: string;
  readonly path: string;
  readonly createdAt: number;
  readonly trustPolicy: string;
  tags: Tags;
}
