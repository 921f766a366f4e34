/**
 * Required fields of each response, by operation. A response without a required field is rejected. Otherwise a missing
 * set would be read as an empty set, and the operator would act on it.
 */
import type {
  CapacityReservation,
  CreateFleetCommandOutput,
  CreateFleetInstance,
  CreateLaunchTemplateCommandOutput,
  DescribeCapacityReservationsCommandOutput,
  DescribeImagesCommandOutput,
  DescribeInstanceStatusCommandOutput,
  DescribeInstancesCommandOutput,
  DescribeInstanceTypeOfferingsCommandOutput,
  DescribeInstanceTypesCommandOutput,
  DescribeLaunchTemplatesCommandOutput,
  DescribePlacementGroupsCommandOutput,
  DescribeSecurityGroupsCommandOutput,
  DescribeSpotPriceHistoryCommandOutput,
  DescribeSubnetsCommandOutput,
  FleetLaunchTemplateOverrides,
  GroupIdentifier,
  IamInstanceProfile,
  Image,
  Instance,
  InstanceNetworkInterface,
  InstanceState,
  InstanceStateChange,
  InstanceStatus,
  InstanceStatusDetails,
  InstanceStatusEvent,
  InstanceStatusSummary,
  InstanceTypeOffering,
  LaunchTemplate,
  LaunchTemplateAndOverridesResponse,
  Placement,
  PlacementGroup,
  Reservation,
  SecurityGroup,
  Subnet,
  Tag,
  TerminateInstancesCommandOutput,
} from '@aws-sdk/client-ec2';
import type { Cluster, DescribeClusterCommandOutput, KubernetesNetworkConfigResponse } from '@aws-sdk/client-eks';
import type {
  GetInstanceProfileCommandOutput,
  InstanceProfile,
  ListInstanceProfilesCommandOutput,
  Role,
} from '@aws-sdk/client-iam';
import type { GetProductsCommandOutput } from '@aws-sdk/client-pricing';
import type { GetQueueUrlCommandOutput, Message, ReceiveMessageCommandOutput } from '@aws-sdk/client-sqs';
import type { GetParameterCommandOutput, Parameter } from '@aws-sdk/client-ssm';
import {
  amount,
  anyText,
  anything,
  type Check,
  flag,
  list,
  moment,
  momentText,
  optional,
  some,
  structure,
  text,
  textThat,
} from './checks.ts';

const ID = /^[a-z]+-[0-9a-zA-Z-]{1,64}$/;
/** Accepts an EC2 ID, which begins with the prefix of its resource type. */
const idOf = (prefix: string): Check =>
  textThat((value) => value.startsWith(`${prefix}-`) && ID.test(value), `an id such as ${prefix}-0123`);
const instanceId = idOf('i');
const STATE = /^(pending|running|stopping|stopped|shutting-down|terminated)$/;
const state = textThat((value) => STATE.test(value), 'the state of an instance');
const COUNT = 1e6;

const image = structure<Image>({
  ImageId: idOf('ami'),
  Name: optional(anyText),
  Architecture: text,
  // Old images have no creation date and count as the oldest.
  CreationDate: optional(momentText),
  DeprecationTime: optional(momentText),
});

const subnet = structure<Subnet>({
  SubnetId: idOf('subnet'),
  AvailabilityZone: text,
  AvailabilityZoneId: optional(text),
  AvailableIpAddressCount: amount(),
});

const reservation = structure<CapacityReservation>({
  CapacityReservationId: idOf('cr'),
  OwnerId: text,
  InstanceType: text,
  AvailabilityZone: text,
  InstanceMatchCriteria: text,
  ReservationType: optional(text),
  AvailableInstanceCount: amount(COUNT),
  EndDate: optional(moment),
  Interruptible: optional(flag),
});

const group = structure<PlacementGroup>({ GroupId: idOf('pg'), GroupName: text, Strategy: text });
const partitions = structure<PlacementGroup>({ PartitionCount: some(COUNT) });
const placementGroup: Check = (field) => {
  group(field);
  if (field.at('Strategy').value === 'partition') partitions(field);
};

/** Terminated instances have no network and, after some time, no tags. */
const instance = structure<Instance>({
  InstanceId: instanceId,
  ImageId: idOf('ami'),
  InstanceType: text,
  State: structure<InstanceState>({ Name: state }),
  LaunchTime: moment,
  Placement: structure<Placement>({
    AvailabilityZone: text,
    AvailabilityZoneId: optional(text),
    Tenancy: optional(text),
    GroupId: optional(text),
    PartitionNumber: optional(amount(COUNT)),
  }),
  SubnetId: optional(idOf('subnet')),
  IamInstanceProfile: optional(structure<IamInstanceProfile>({ Arn: optional(text) })),
  SecurityGroups: optional(list(structure<GroupIdentifier>({ GroupId: idOf('sg') }))),
  NetworkInterfaces: optional(list(structure<InstanceNetworkInterface>({ InterfaceType: optional(text) }))),
  Tags: optional(list(structure<Tag>({ Key: text, Value: optional(anyText) }))),
  SpotInstanceRequestId: optional(text),
  CapacityReservationId: optional(text),
});

const statusSummary = structure<InstanceStatusSummary>({
  Details: optional(list(structure<InstanceStatusDetails>({ Status: text, ImpairedSince: optional(moment) }))),
});

/** The provider ID of an instance contains its zone. */
const fleetInstance = structure<CreateFleetInstance>({
  InstanceIds: list(instanceId, { atLeast: 1 }),
  InstanceType: text,
  LaunchTemplateAndOverrides: structure<LaunchTemplateAndOverridesResponse>({
    Overrides: structure<FleetLaunchTemplateOverrides>({
      AvailabilityZone: text,
      SubnetId: text,
      ImageId: optional(text),
    }),
  }),
});

const fleet = structure<CreateFleetCommandOutput>({
  FleetId: text,
  Instances: list(fleetInstance),
  Errors: optional(list(anything)),
});
const errors = structure<CreateFleetCommandOutput>({ Errors: list(anything, { atLeast: 1 }) });
/** A response for an instant fleet contains errors if it launched no instance. */
const instantFleet: Check = (field) => {
  fleet(field);
  if (field.at('Instances').items().length === 0) errors(field);
};

/** The operator reads the tag with one key. Tags with other keys must not make the response unusable. */
const tags = list(structure<Tag>({ Key: anyText, Value: optional(anyText) }));

const template = structure<LaunchTemplate>({
  LaunchTemplateId: idOf('lt'),
  LaunchTemplateName: text,
  Tags: optional(tags),
});

const profile = structure<InstanceProfile>({
  InstanceProfileName: text,
  Path: optional(text),
  Roles: list(structure<Role>({ RoleName: text })),
  Tags: optional(tags),
});

const EC2: Readonly<Record<string, Check>> = {
  DescribeImages: structure<DescribeImagesCommandOutput>({ Images: list(image) }),
  DescribeSubnets: structure<DescribeSubnetsCommandOutput>({ Subnets: list(subnet) }),
  DescribeSecurityGroups: structure<DescribeSecurityGroupsCommandOutput>({
    SecurityGroups: list(structure<SecurityGroup>({ GroupId: idOf('sg'), GroupName: text })),
  }),
  // An unusable instance type must not affect the other instance types: see instancetypes/discovery.ts.
  DescribeInstanceTypes: structure<DescribeInstanceTypesCommandOutput>({ InstanceTypes: list(anything) }),
  DescribeInstanceTypeOfferings: structure<DescribeInstanceTypeOfferingsCommandOutput>({
    InstanceTypeOfferings: list(structure<InstanceTypeOffering>({ InstanceType: text, Location: text })),
  }),
  // An unusable price must not affect the other prices: see pricing/pricing.ts.
  DescribeSpotPriceHistory: structure<DescribeSpotPriceHistoryCommandOutput>({ SpotPriceHistory: list(anything) }),
  DescribeCapacityReservations: structure<DescribeCapacityReservationsCommandOutput>({
    CapacityReservations: list(reservation),
  }),
  DescribePlacementGroups: structure<DescribePlacementGroupsCommandOutput>({ PlacementGroups: list(placementGroup) }),
  DescribeInstances: structure<DescribeInstancesCommandOutput>({
    Reservations: list(structure<Reservation>({ Instances: list(instance) })),
  }),
  DescribeInstanceStatus: structure<DescribeInstanceStatusCommandOutput>({
    InstanceStatuses: list(
      structure<InstanceStatus>({
        InstanceId: instanceId,
        InstanceStatus: optional(statusSummary),
        SystemStatus: optional(statusSummary),
        Events: optional(list(structure<InstanceStatusEvent>({ Code: text }))),
      }),
    ),
  }),
  DescribeLaunchTemplates: structure<DescribeLaunchTemplatesCommandOutput>({ LaunchTemplates: list(template) }),
  CreateLaunchTemplate: structure<CreateLaunchTemplateCommandOutput>({ LaunchTemplate: template }),
  CreateFleet: instantFleet,
  TerminateInstances: structure<TerminateInstancesCommandOutput>({
    TerminatingInstances: list(
      structure<InstanceStateChange>({
        InstanceId: instanceId,
        CurrentState: structure<InstanceState>({ Name: state }),
      }),
    ),
  }),
  CreateTags: anything,
  DeleteLaunchTemplate: anything,
};

const IAM: Readonly<Record<string, Check>> = {
  GetInstanceProfile: structure<GetInstanceProfileCommandOutput>({ InstanceProfile: profile }),
  ListInstanceProfiles: structure<ListInstanceProfilesCommandOutput>({
    InstanceProfiles: list(structure<InstanceProfile>({ InstanceProfileName: text, Path: optional(text) })),
    IsTruncated: optional(flag),
  }),
  CreateInstanceProfile: anything,
  AddRoleToInstanceProfile: anything,
  RemoveRoleFromInstanceProfile: anything,
  DeleteInstanceProfile: anything,
};

const network = structure<KubernetesNetworkConfigResponse>({
  serviceIpv4Cidr: optional(text),
  serviceIpv6Cidr: optional(text),
});

/** Checks by service and operation. Responses to other operations are not checked. */
export const NEEDS: Readonly<Record<string, Readonly<Record<string, Check>>>> = {
  EC2,
  IAM,
  SSM: {
    GetParameter: structure<GetParameterCommandOutput>({ Parameter: structure<Parameter>({ Value: text }) }),
  },
  EKS: {
    DescribeCluster: structure<DescribeClusterCommandOutput>({
      cluster: structure<Cluster>({
        arn: optional(text),
        endpoint: optional(text),
        version: optional(text),
        kubernetesNetworkConfig: network,
      }),
    }),
  },
  Pricing: {
    // An unusable price must not affect the other prices: see pricing/pricing.ts.
    GetProducts: structure<GetProductsCommandOutput>({ PriceList: list(anything) }),
  },
  SQS: {
    GetQueueUrl: structure<GetQueueUrlCommandOutput>({ QueueUrl: text }),
    // The response for an empty queue has no messages field.
    ReceiveMessage: structure<ReceiveMessageCommandOutput>({
      Messages: optional(list(structure<Message>({ MessageId: text, ReceiptHandle: text, Body: optional(anyText) }))),
    }),
  },
};
