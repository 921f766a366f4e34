/**
 * Required fields of each response, by operation. A response without a required field is rejected. Otherwise a missing
 * set would be read as an empty set, and the operator would act on it.
 */
import type * as Ec2 from '@aws-sdk/client-ec2';
import type * as Eks from '@aws-sdk/client-eks';
import type * as Iam from '@aws-sdk/client-iam';
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

const image = structure<Ec2.Image>({
  ImageId: idOf('ami'),
  Name: optional(anyText),
  Architecture: text,
  // Old images have no creation date and count as the oldest.
  CreationDate: optional(momentText),
  DeprecationTime: optional(momentText),
});

const subnet = structure<Ec2.Subnet>({
  SubnetId: idOf('subnet'),
  AvailabilityZone: text,
  AvailabilityZoneId: optional(text),
  AvailableIpAddressCount: amount(),
});

const reservation = structure<Ec2.CapacityReservation>({
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

const group = structure<Ec2.PlacementGroup>({ GroupId: idOf('pg'), GroupName: text, Strategy: text });
const partitions = structure<Ec2.PlacementGroup>({ PartitionCount: some(COUNT) });
const placementGroup: Check = (field) => {
  group(field);
  if (field.at('Strategy').value === 'partition') partitions(field);
};

/** Terminated instances have no network and, after some time, no tags. */
const instance = structure<Ec2.Instance>({
  InstanceId: instanceId,
  ImageId: idOf('ami'),
  InstanceType: text,
  State: structure<Ec2.InstanceState>({ Name: state }),
  LaunchTime: moment,
  Placement: structure<Ec2.Placement>({
    AvailabilityZone: text,
    AvailabilityZoneId: optional(text),
    Tenancy: optional(text),
    GroupId: optional(text),
    PartitionNumber: optional(amount(COUNT)),
  }),
  SubnetId: optional(idOf('subnet')),
  IamInstanceProfile: optional(structure<Ec2.IamInstanceProfile>({ Arn: optional(text) })),
  SecurityGroups: optional(list(structure<Ec2.GroupIdentifier>({ GroupId: idOf('sg') }))),
  NetworkInterfaces: optional(list(structure<Ec2.InstanceNetworkInterface>({ InterfaceType: optional(text) }))),
  Tags: optional(list(structure<Ec2.Tag>({ Key: text, Value: optional(anyText) }))),
  SpotInstanceRequestId: optional(text),
  CapacityReservationId: optional(text),
});

const statusSummary = structure<Ec2.InstanceStatusSummary>({
  Details: optional(list(structure<Ec2.InstanceStatusDetails>({ Status: text, ImpairedSince: optional(moment) }))),
});

/** The provider ID of an instance contains its zone. */
const fleetInstance = structure<Ec2.CreateFleetInstance>({
  InstanceIds: list(instanceId, { atLeast: 1 }),
  InstanceType: text,
  LaunchTemplateAndOverrides: structure<Ec2.LaunchTemplateAndOverridesResponse>({
    Overrides: structure<Ec2.FleetLaunchTemplateOverrides>({
      AvailabilityZone: text,
      SubnetId: text,
      ImageId: optional(text),
    }),
  }),
});

const fleet = structure<Ec2.CreateFleetCommandOutput>({
  FleetId: text,
  Instances: list(fleetInstance),
  Errors: optional(list(anything)),
});
const errors = structure<Ec2.CreateFleetCommandOutput>({ Errors: list(anything, { atLeast: 1 }) });
/** A response for an instant fleet contains errors if it launched no instance. */
const instantFleet: Check = (field) => {
  fleet(field);
  if (field.at('Instances').items().length === 0) errors(field);
};

/** The operator reads the tag with one key. Tags with other keys must not make the response unusable. */
const tags = list(structure<Ec2.Tag>({ Key: anyText, Value: optional(anyText) }));

const template = structure<Ec2.LaunchTemplate>({
  LaunchTemplateId: idOf('lt'),
  LaunchTemplateName: text,
  Tags: optional(tags),
});

const profile = structure<Iam.InstanceProfile>({
  InstanceProfileName: text,
  Path: optional(text),
  Roles: list(structure<Iam.Role>({ RoleName: text })),
  Tags: optional(tags),
});

const EC2: Readonly<Record<string, Check>> = {
  DescribeImages: structure<Ec2.DescribeImagesCommandOutput>({ Images: list(image) }),
  DescribeSubnets: structure<Ec2.DescribeSubnetsCommandOutput>({ Subnets: list(subnet) }),
  DescribeSecurityGroups: structure<Ec2.DescribeSecurityGroupsCommandOutput>({
    SecurityGroups: list(structure<Ec2.SecurityGroup>({ GroupId: idOf('sg'), GroupName: text })),
  }),
  // An unusable instance type must not affect the other instance types: see instancetypes/discovery.ts.
  DescribeInstanceTypes: structure<Ec2.DescribeInstanceTypesCommandOutput>({ InstanceTypes: list(anything) }),
  DescribeInstanceTypeOfferings: structure<Ec2.DescribeInstanceTypeOfferingsCommandOutput>({
    InstanceTypeOfferings: list(structure<Ec2.InstanceTypeOffering>({ InstanceType: text, Location: text })),
  }),
  // An unusable price must not affect the other prices: see pricing/pricing.ts.
  DescribeSpotPriceHistory: structure<Ec2.DescribeSpotPriceHistoryCommandOutput>({ SpotPriceHistory: list(anything) }),
  DescribeCapacityReservations: structure<Ec2.DescribeCapacityReservationsCommandOutput>({
    CapacityReservations: list(reservation),
  }),
  DescribePlacementGroups: structure<Ec2.DescribePlacementGroupsCommandOutput>({
    PlacementGroups: list(placementGroup),
  }),
  DescribeInstances: structure<Ec2.DescribeInstancesCommandOutput>({
    Reservations: list(structure<Ec2.Reservation>({ Instances: list(instance) })),
  }),
  DescribeInstanceStatus: structure<Ec2.DescribeInstanceStatusCommandOutput>({
    InstanceStatuses: list(
      structure<Ec2.InstanceStatus>({
        InstanceId: instanceId,
        InstanceStatus: optional(statusSummary),
        SystemStatus: optional(statusSummary),
        Events: optional(list(structure<Ec2.InstanceStatusEvent>({ Code: text }))),
      }),
    ),
  }),
  DescribeLaunchTemplates: structure<Ec2.DescribeLaunchTemplatesCommandOutput>({ LaunchTemplates: list(template) }),
  CreateLaunchTemplate: structure<Ec2.CreateLaunchTemplateCommandOutput>({ LaunchTemplate: template }),
  CreateFleet: instantFleet,
  TerminateInstances: structure<Ec2.TerminateInstancesCommandOutput>({
    TerminatingInstances: list(
      structure<Ec2.InstanceStateChange>({
        InstanceId: instanceId,
        CurrentState: structure<Ec2.InstanceState>({ Name: state }),
      }),
    ),
  }),
  CreateTags: anything,
  DeleteLaunchTemplate: anything,
};

const IAM: Readonly<Record<string, Check>> = {
  GetInstanceProfile: structure<Iam.GetInstanceProfileCommandOutput>({ InstanceProfile: profile }),
  ListInstanceProfiles: structure<Iam.ListInstanceProfilesCommandOutput>({
    InstanceProfiles: list(structure<Iam.InstanceProfile>({ InstanceProfileName: text, Path: optional(text) })),
    IsTruncated: optional(flag),
  }),
  CreateInstanceProfile: anything,
  AddRoleToInstanceProfile: anything,
  RemoveRoleFromInstanceProfile: anything,
  DeleteInstanceProfile: anything,
};

const network = structure<Eks.KubernetesNetworkConfigResponse>({
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
    DescribeCluster: structure<Eks.DescribeClusterCommandOutput>({
      cluster: structure<Eks.Cluster>({
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
