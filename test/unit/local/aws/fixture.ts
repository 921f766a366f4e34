/** A local AWS with a manual clock, and real SDK clients that call it over HTTP. */
import {
  CreateFleetCommand,
  type CreateFleetCommandInput,
  type CreateFleetCommandOutput,
  CreateLaunchTemplateCommand,
  DescribeSubnetsCommand,
  EC2Client,
  type RequestLaunchTemplateData,
  type Subnet,
} from '@aws-sdk/client-ec2';
import type { LocalAws, LocalAwsOptions } from '../../../../src/local/aws/server.ts';
import { startAws } from '../../../../src/local/aws/server.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';

export interface ClientConfig {
  readonly endpoint: string;
  readonly region: string;
  readonly credentials: { readonly accessKeyId: string; readonly secretAccessKey: string };
  readonly maxAttempts: number;
}

export interface Fixture {
  readonly aws: LocalAws;
  readonly clock: VirtualClock;
  readonly ec2: EC2Client;
  readonly config: ClientConfig;
  /** The private subnets, one per zone, in the order of the zones. */
  readonly subnets: readonly Subnet[];
  readonly imageId: string;
  /** Creates a launch template with the standard image and returns its name. */
  template(name?: string, data?: RequestLaunchTemplateData): Promise<string>;
  fleet(input: FleetInput): Promise<CreateFleetCommandOutput>;
  close(): Promise<void>;
}

export interface FleetInput {
  readonly template: string;
  readonly types: readonly string[];
  readonly subnets?: readonly Subnet[];
  readonly count?: number;
  readonly market?: 'spot' | 'on-demand';
  readonly more?: Partial<CreateFleetCommandInput>;
}

export async function startFixture(options: Partial<LocalAwsOptions> = {}): Promise<Fixture> {
  const clock = virtualClock();
  const aws = await startAws({ clock, clusterName: 'demo', ...options });
  const config: ClientConfig = {
    endpoint: aws.url,
    region: aws.region,
    credentials: { accessKeyId: 'local', secretAccessKey: 'local' },
    maxAttempts: 1,
  };
  const ec2 = new EC2Client(config);
  const imageId = aws.seed.image({ name: 'test-image', rootSizeGiB: 8 });
  const described = await ec2.send(
    new DescribeSubnetsCommand({ Filters: [{ Name: 'tag-key', Values: ['karpenter.sh/discovery'] }] }),
  );
  const subnets = (described.Subnets ?? []).sort((a, b) =>
    String(a.AvailabilityZone).localeCompare(String(b.AvailabilityZone)),
  );

  return {
    aws,
    clock,
    ec2,
    config,
    subnets,
    imageId,
    async template(name = 'karpenter.k8s.aws/1', data = {}) {
      await ec2.send(
        new CreateLaunchTemplateCommand({
          LaunchTemplateName: name,
          LaunchTemplateData: { ImageId: imageId, ...data },
        }),
      );
      return name;
    },
    fleet({ template, types, subnets: chosen = subnets, count = 1, market = 'on-demand', more = {} }) {
      return ec2.send(
        new CreateFleetCommand({
          Type: 'instant',
          LaunchTemplateConfigs: [
            {
              LaunchTemplateSpecification: { LaunchTemplateName: template, Version: '$Latest' },
              Overrides: types.flatMap((type) =>
                chosen.map((subnet) => ({
                  InstanceType: type as 'm5.large',
                  SubnetId: subnet.SubnetId,
                  AvailabilityZone: subnet.AvailabilityZone,
                })),
              ),
            },
          ],
          TargetCapacitySpecification: { TotalTargetCapacity: count, DefaultTargetCapacityType: market },
          ...more,
        }),
      );
    },
    async close() {
      ec2.destroy();
      await aws.close();
    },
  };
}

/** Runs an action that must fail and returns the error code. */
export async function codeOf(action: Promise<unknown>): Promise<string> {
  try {
    await action;
  } catch (error) {
    const { Code: code, name } = error as { Code?: string; name: string };
    return code ?? name;
  }
  throw new Error('The call should have failed');
}

export const instanceIds = (answer: CreateFleetCommandOutput): string[] =>
  (answer.Instances ?? []).flatMap((each) => each.InstanceIds ?? []);
