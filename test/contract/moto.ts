/**
 * A running moto server as a back end. Only public SSM parameters are served here, because moto neither has them nor
 * allows their creation.
 */
import {
  CreateSecurityGroupCommand,
  CreateSubnetCommand,
  CreateVpcCommand,
  type EC2Client,
  type ResourceType,
} from '@aws-sdk/client-ec2';
import { CreateClusterCommand } from '@aws-sdk/client-eks';
import { CreateRoleCommand, type IAMClient } from '@aws-sdk/client-iam';
import { CreateQueueCommand, SendMessageCommand } from '@aws-sdk/client-sqs';
import { type Backend, CLUSTER, NODE_ROLE, REGION, recordingClients, type StandIn } from './backend.ts';

const IMAGES: Readonly<Record<string, string>> = {
  'x86_64/standard': 'ami-0a11ce0000000001',
  'arm64/standard': 'ami-0a11ce0000000002',
};
const PARAMETER = /^\/aws\/service\/eks\/optimized-ami\/[\d.]+\/amazon-linux-2023\/(.*)\/recommended\/image_id$/;

const publicParameters: StandIn = (action, { Name }) => {
  const image = action === 'GetParameter' ? IMAGES[PARAMETER.exec(Name)?.[1] ?? ''] : undefined;
  return image === undefined ? undefined : { Parameter: { Name, Value: image } };
};

const tagged = (ResourceType: ResourceType) => ({
  TagSpecifications: [{ ResourceType, Tags: [{ Key: 'karpenter.sh/discovery', Value: CLUSTER }] }],
});

async function network(ec2: EC2Client): Promise<{ subnetIds: string[]; groupId: string }> {
  const { Vpc } = await ec2.send(new CreateVpcCommand({ CidrBlock: '10.0.0.0/16' }));
  const VpcId = Vpc?.VpcId ?? '';
  const subnetIds: string[] = [];
  for (const [at, zone] of ['a', 'b', 'c'].entries()) {
    const { Subnet } = await ec2.send(
      new CreateSubnetCommand({
        VpcId,
        CidrBlock: `10.0.${at * 32}.0/19`,
        AvailabilityZone: `${REGION}${zone}`,
        ...tagged('subnet'),
      }),
    );
    subnetIds.push(Subnet?.SubnetId ?? '');
  }
  const { GroupId = '' } = await ec2.send(
    new CreateSecurityGroupCommand({ GroupName: 'nodes', Description: 'nodes', VpcId, ...tagged('security-group') }),
  );
  return { subnetIds, groupId: GroupId };
}

async function role(iam: IAMClient, RoleName: string): Promise<string> {
  const statement = { Effect: 'Allow', Principal: { Service: 'ec2.amazonaws.com' }, Action: 'sts:AssumeRole' };
  const AssumeRolePolicyDocument = JSON.stringify({ Version: '2012-10-17', Statement: [statement] });
  const { Role } = await iam.send(new CreateRoleCommand({ RoleName, AssumeRolePolicyDocument }));
  return Role?.Arn ?? '';
}

/** @throws Error if `url` is not on this machine, because the server is emptied first */
export async function openMoto(url: string): Promise<Backend> {
  if (new URL(url).hostname !== '127.0.0.1') throw new Error(`${url} is not on 127.0.0.1`);
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: url,
    AWS_REGION: REGION,
    AWS_ACCESS_KEY_ID: 'testing',
    AWS_SECRET_ACCESS_KEY: 'testing',
    AWS_EC2_METADATA_DISABLED: 'true',
  });
  await fetch(`${url}/moto-api/reset`, { method: 'POST' });
  const recording = await recordingClients(publicParameters);
  const { ec2, iam, eks, sqs } = recording.clients;
  const { subnetIds, groupId } = await network(ec2);
  await role(iam, NODE_ROLE);
  await eks.send(
    new CreateClusterCommand({
      name: CLUSTER,
      version: '1.34',
      roleArn: await role(iam, `ClusterRole-${CLUSTER}`),
      resourcesVpcConfig: { subnetIds, securityGroupIds: [groupId] },
      kubernetesNetworkConfig: { serviceIpv4Cidr: '10.100.0.0/16' },
    }),
  );
  const { QueueUrl } = await sqs.send(new CreateQueueCommand({ QueueName: CLUSTER }));
  recording.forget();
  return {
    ...recording,
    send: async (message) => {
      await sqs.send(new SendMessageCommand({ QueueUrl, MessageBody: JSON.stringify(message) }));
    },
    // The process that started the server also stops it.
    close: async () =>
      Object.values(recording.clients).forEach((client) => void (typeof client === 'object' && client.destroy())),
  };
}
