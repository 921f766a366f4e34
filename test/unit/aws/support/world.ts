/** AWS with the state of the recorded cases. Returns responses from the fixture and records the requests. */
import { EC2Client } from '@aws-sdk/client-ec2';
import { EKSClient } from '@aws-sdk/client-eks';
import { IAMClient } from '@aws-sdk/client-iam';
import { PricingClient } from '@aws-sdk/client-pricing';
import { SQSClient } from '@aws-sdk/client-sqs';
import { SSMClient } from '@aws-sdk/client-ssm';
import type { Clients } from '../../../../src/aws/clients.ts';
import type { Json } from './json.ts';

export interface Sent {
  readonly action: string;
  readonly input: Json;
}

class AwsError extends Error {
  readonly $metadata = { httpStatusCode: 400 };
  readonly $fault = 'client';
  readonly Code: string;

  constructor(code: string, message = code) {
    super(message);
    this.name = code;
    this.Code = code;
  }
}

const glob = (pattern: string): RegExp =>
  new RegExp(
    `^${pattern
      .replace(/[.+^${}()|[\]\\]/g, '\\$&')
      .replaceAll('*', '.*')
      .replaceAll('?', '.')}$`,
  );

function matches(filters: Json[] | undefined, tags: Json, members: Record<string, string | undefined>): boolean {
  return (filters ?? []).every(({ Name, Values }: Json) => {
    if (Name === 'tag-key') return Values.some((key: string) => key in tags);
    if (Name.startsWith('tag:')) return Values.includes(tags[Name.slice(4)]);
    if (!(Name in members)) throw new Error(`filter ${Name} is not known to the fixture`);
    return Values.some((value: string) => glob(value).test(members[Name] ?? ''));
  });
}

export interface WorldOptions {
  readonly describeCluster: Json;
  /** Responses of EC2 to fleet requests, in order. */
  readonly ec2Answer: readonly Json[];
}

export class World {
  readonly sent: Sent[] = [];
  readonly #world: Json;
  readonly #options: WorldOptions;
  readonly #templates = new Map<string, string>();
  readonly #roles = new Map<string, string[]>();
  #fleets = 0;

  constructor(world: Json, options: WorldOptions) {
    this.#world = world;
    this.#options = options;
    for (const { name, role } of world.instanceProfiles) this.#roles.set(name, [role]);
  }

  clients(): Clients {
    const client = <T extends object>(kind: { prototype: T }): T =>
      Object.assign(Object.create(kind.prototype) as T, {
        send: async (command: { constructor: { name: string }; input: Json }) => {
          const action = command.constructor.name.replace(/Command$/, '');
          this.sent.push({ action, input: command.input });
          return this.#answer(action, command.input);
        },
      });
    const ec2 = client(EC2Client);
    return {
      ec2,
      ec2Once: ec2,
      eks: client(EKSClient),
      iam: client(IAMClient),
      ssm: client(SSMClient),
      sqs: client(SQSClient),
      pricing: client(PricingClient),
      region: this.#world.region,
    };
  }

  #answer(action: string, input: Json): Json {
    if (input.DryRun === true) throw new AwsError('DryRunOperation');
    const answers: Record<string, () => Json> = {
      DescribeInstanceTypes: () => ({ InstanceTypes: Object.values(this.#world.instanceTypes) }),
      DescribeInstanceTypeOfferings: () => ({ InstanceTypeOfferings: this.#offerings() }),
      DescribeSpotPriceHistory: () => ({ SpotPriceHistory: this.#spotPrices() }),
      GetProducts: () => ({ PriceList: this.#priceList() }),
      DescribeSubnets: () => ({ Subnets: this.#subnets(input) }),
      DescribeSecurityGroups: () => ({ SecurityGroups: this.#securityGroups(input) }),
      DescribeImages: () => ({ Images: this.#images(input) }),
      DescribeCapacityReservations: () => ({ CapacityReservations: this.#reservations(input) }),
      DescribePlacementGroups: () => ({ PlacementGroups: this.#placementGroups(input) }),
      DescribeLaunchTemplates: () => this.#describeTemplates(input),
      CreateLaunchTemplate: () => this.#createTemplate(input),
      DeleteLaunchTemplate: () => ({}),
      CreateFleet: () => this.#createFleet(input),
      DescribeInstances: () => ({ Reservations: [] }),
      CreateTags: () => ({}),
      GetParameter: () => this.#parameter(input),
      DescribeCluster: () => ({ cluster: this.#options.describeCluster }),
      GetInstanceProfile: () => this.#profile(input),
      CreateInstanceProfile: () => {
        this.#roles.set(input.InstanceProfileName, []);
        return {};
      },
      AddRoleToInstanceProfile: () => {
        this.#roles.set(input.InstanceProfileName, [input.RoleName]);
        return {};
      },
      ListInstanceProfiles: () => ({ InstanceProfiles: [] }),
    };
    const answer = answers[action];
    if (answer === undefined) throw new Error(`${action} is not known to the fixture`);
    return answer();
  }

  #offerings(): Json[] {
    return Object.entries<string[]>(this.#world.offerings).flatMap(([InstanceType, zones]) =>
      zones.map((Location) => ({ InstanceType, Location })),
    );
  }

  #priceList(): string[] {
    return Object.entries<number>(this.#world.onDemandPrices).map(([instanceType, price]) =>
      JSON.stringify({
        product: { attributes: { instanceType } },
        terms: { OnDemand: { term: { priceDimensions: { hour: { pricePerUnit: { USD: String(price) } } } } } },
      }),
    );
  }

  #spotPrices(): Json[] {
    const factors: Record<string, number> = { 'us-east-1a': 0.4, 'us-east-1b': 0.41, 'us-east-1c': 0.42 };
    return Object.entries<number>(this.#world.onDemandPrices).flatMap(([InstanceType, price]) =>
      Object.entries(factors).map(([AvailabilityZone, factor]) => ({
        InstanceType,
        AvailabilityZone,
        SpotPrice: (price * factor).toFixed(6),
        Timestamp: new Date(0),
      })),
    );
  }

  #subnets({ Filters }: Json): Json[] {
    return this.#world.subnets
      .filter((subnet: Json) => matches(Filters, subnet.tags, { 'subnet-id': subnet.id }))
      .map((subnet: Json) => ({
        SubnetId: subnet.id,
        AvailabilityZone: subnet.zone,
        AvailabilityZoneId: subnet.zoneId,
        AvailableIpAddressCount: subnet.availableIpAddressCount,
      }));
  }

  #securityGroups({ Filters }: Json): Json[] {
    return this.#world.securityGroups
      .filter((group: Json) => matches(Filters, group.tags, { 'group-id': group.id, 'group-name': group.name }))
      .map((group: Json) => ({ GroupId: group.id, GroupName: group.name }));
  }

  #images({ Filters, Owners }: Json): Json[] {
    return this.#world.images
      .filter((image: Json) =>
        matches(Filters, image.tags, { 'image-id': image.id, name: image.name, state: 'available' }),
      )
      .filter(
        (image: Json) =>
          Owners === undefined ||
          Owners.some(
            (owner: string) =>
              owner === image.ownerId ||
              owner === image.ownerAlias ||
              (owner === 'self' && image.ownerId === this.#world.account),
          ),
      )
      .map((image: Json) => ({
        ImageId: image.id,
        Name: image.name,
        Architecture: image.architecture,
        CreationDate: image.creationDate,
        DeprecationTime: image.deprecationTime,
      }));
  }

  #reservations({ CapacityReservationIds: ids, Filters }: Json): Json[] {
    return this.#world.capacityReservations
      .filter((each: Json) => ids === undefined || ids.includes(each.capacityReservationId))
      .filter((each: Json) =>
        matches(Filters, each.tags, {
          state: each.state,
          'owner-id': each.ownerId,
          'instance-match-criteria': each.instanceMatchCriteria,
        }),
      )
      .map((each: Json) => ({
        CapacityReservationId: each.capacityReservationId,
        OwnerId: each.ownerId,
        InstanceType: each.instanceType,
        AvailabilityZone: each.availabilityZone,
        AvailableInstanceCount: each.availableInstanceCount,
        InstanceMatchCriteria: each.instanceMatchCriteria,
        ReservationType: each.reservationType,
      }));
  }

  #placementGroups({ GroupIds, GroupNames }: Json): Json[] {
    return this.#world.placementGroups
      .filter((group: Json) => GroupIds?.includes(group.groupId) || GroupNames?.includes(group.groupName))
      .map((group: Json) => ({
        GroupId: group.groupId,
        GroupName: group.groupName,
        Strategy: group.strategy,
        PartitionCount: group.partitionCount,
      }));
  }

  #describeTemplates({ LaunchTemplateNames: names, Filters }: Json): Json {
    if (Filters !== undefined) return { LaunchTemplates: [] };
    const id = this.#templates.get(names[0]);
    if (id === undefined) throw new AwsError('InvalidLaunchTemplateName.NotFoundException');
    return { LaunchTemplates: [{ LaunchTemplateId: id, LaunchTemplateName: names[0] }] };
  }

  #createTemplate({ LaunchTemplateName: name }: Json): Json {
    const id = `lt-${this.#templates.size}`;
    this.#templates.set(name, id);
    return { LaunchTemplate: { LaunchTemplateId: id } };
  }

  #createFleet({ LaunchTemplateConfigs: configs }: Json): Json {
    const wanted = this.#options.ec2Answer[this.#fleets++] ?? {};
    for (const { LaunchTemplateSpecification, Overrides } of configs) {
      const found = Overrides.find(
        (each: Json) => each.InstanceType === wanted.InstanceType && each.SubnetId === wanted.SubnetId,
      );
      if (found !== undefined)
        return {
          FleetId: 'fleet-1',
          Instances: [
            {
              InstanceIds: ['i-INSTANCE'],
              InstanceType: found.InstanceType,
              LaunchTemplateAndOverrides: { LaunchTemplateSpecification, Overrides: found },
            },
          ],
        };
    }
    throw new Error(`the fleet does not ask for ${JSON.stringify(wanted)}`);
  }

  #parameter({ Name }: Json): Json {
    const Value = this.#world.ssmParameters[Name];
    if (Value === undefined) throw new AwsError('ParameterNotFound');
    return { Parameter: { Name, Value } };
  }

  #profile({ InstanceProfileName: name }: Json): Json {
    const roles = this.#roles.get(name);
    if (roles === undefined) throw new AwsError('NoSuchEntityException');
    return { InstanceProfile: { InstanceProfileName: name, Roles: roles.map((RoleName) => ({ RoleName })) } };
  }
}
