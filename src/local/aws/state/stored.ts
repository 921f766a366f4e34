/** Objects that API calls create in the account. */
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

interface RolePolicy {
  readonly document: string;
  /** IDs of the faults that make denied actions fail. */
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
  /** Inline policies of this role, by name. */
  readonly policies: Map<string, RolePolicy>;
  /** ARNs of attached managed policies. */
  readonly attached: Set<string>;
  readonly name: string;
  readonly id: string;
  readonly arn: string;
  readonly path: string;
  readonly createdAt: number;
  readonly trustPolicy: string;
  tags: Tags;
}
