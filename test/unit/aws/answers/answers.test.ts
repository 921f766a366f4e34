/** Responses that cannot be used, over real HTTP with the SDK's own clients. */
import {
  CreateFleetCommand,
  CreateTagsCommand,
  DescribeCapacityReservationsCommand,
  DescribeImagesCommand,
  DescribeInstanceStatusCommand,
  DescribeInstancesCommand,
  DescribeLaunchTemplatesCommand,
  DescribePlacementGroupsCommand,
  DescribeSecurityGroupsCommand,
  DescribeSubnetsCommand,
  TerminateInstancesCommand,
} from '@aws-sdk/client-ec2';
import { DescribeClusterCommand } from '@aws-sdk/client-eks';
import { GetInstanceProfileCommand, ListInstanceProfilesCommand } from '@aws-sdk/client-iam';
import { GetProductsCommand } from '@aws-sdk/client-pricing';
import { DeleteMessageCommand, GetQueueUrlCommand, ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { GetParameterCommand } from '@aws-sdk/client-ssm';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { openFence } from '#kube/client';
import type { UnusableAnswer } from '../../../../src/aws/answers/unusable.ts';
import { type Clients, createClients } from '../../../../src/aws/clients.ts';
import { isUnanswered } from '../../../../src/aws/errors.ts';
import { type Endpoint, serveAws } from '../support/endpoint.ts';

let endpoint: Endpoint;
let clients: Clients;
let answer: { readonly status?: number; readonly body: string };
beforeAll(async () => {
  endpoint = await serveAws((request, response) => {
    request.resume();
    if (answer.body === 'silence') return;
    const type = request.headers['x-amz-target'] === undefined ? 'text/xml' : 'application/x-amz-json-1.1';
    response.writeHead(answer.status ?? 200, { 'content-type': type }).end(answer.body);
  });
  clients = await createClients({ fence: openFence() });
});
afterAll(() => endpoint.close());

const item = (text: string): string => `<item>${text}</item>`;
const IMAGE =
  '<imageId>ami-1</imageId><architecture>arm64</architecture><creationDate>2025-01-01T00:00:00Z</creationDate>';
const SUBNET =
  '<subnetId>subnet-1</subnetId><availabilityZone>a</availabilityZone><availableIpAddressCount>5</availableIpAddressCount>';
const GROUP = '<groupId>sg-1</groupId><groupName>nodes</groupName>';
const RESERVATION =
  '<capacityReservationId>cr-1</capacityReservationId><ownerId>1</ownerId><instanceType>m5.large</instanceType>' +
  '<availabilityZone>a</availabilityZone><instanceMatchCriteria>open</instanceMatchCriteria>' +
  '<availableInstanceCount>1</availableInstanceCount>';
const PLACEMENT =
  '<groupId>pg-1</groupId><groupName>g</groupName><strategy>partition</strategy><partitionCount>3</partitionCount>';
const INSTANCE =
  '<instanceId>i-1</instanceId><imageId>ami-1</imageId><instanceType>m5.large</instanceType>' +
  '<instanceState><name>running</name></instanceState><launchTime>2025-01-01T00:00:00Z</launchTime>' +
  '<placement><availabilityZone>a</availabilityZone></placement><tagSet><item><key>k</key><value/></item></tagSet>';
const STATUS =
  '<instanceId>i-1</instanceId><eventsSet><item><code>system-reboot</code></item></eventsSet>' +
  '<instanceStatus><details><item><status>failed</status></item></details></instanceStatus>';
const BOUGHT =
  '<instanceIds><item>i-1</item></instanceIds><instanceType>m5.large</instanceType><launchTemplateAndOverrides>' +
  '<overrides><availabilityZone>a</availabilityZone><subnetId>subnet-1</subnetId></overrides></launchTemplateAndOverrides>';

interface Good {
  readonly send: () => Promise<unknown>;
  readonly body: string;
}

const GOOD: Readonly<Record<string, Good>> = {
  DescribeImages: {
    send: () => clients.ec2.send(new DescribeImagesCommand({})),
    body: `<imagesSet>${item(IMAGE)}</imagesSet>`,
  },
  DescribeSubnets: {
    send: () => clients.ec2.send(new DescribeSubnetsCommand({})),
    body: `<subnetSet>${item(SUBNET)}</subnetSet>`,
  },
  DescribeSecurityGroups: {
    send: () => clients.ec2.send(new DescribeSecurityGroupsCommand({})),
    body: `<securityGroupInfo>${item(GROUP)}</securityGroupInfo>`,
  },
  DescribeCapacityReservations: {
    send: () => clients.ec2.send(new DescribeCapacityReservationsCommand({})),
    body: `<capacityReservationSet>${item(RESERVATION)}</capacityReservationSet>`,
  },
  DescribePlacementGroups: {
    send: () => clients.ec2.send(new DescribePlacementGroupsCommand({})),
    body: `<placementGroupSet>${item(PLACEMENT)}</placementGroupSet>`,
  },
  DescribeInstances: {
    send: () => clients.ec2.send(new DescribeInstancesCommand({})),
    body: `<reservationSet>${item(`<instancesSet>${item(INSTANCE)}</instancesSet>`)}</reservationSet>`,
  },
  DescribeInstanceStatus: {
    send: () => clients.ec2.send(new DescribeInstanceStatusCommand({})),
    body: `<instanceStatusSet>${item(STATUS)}</instanceStatusSet>`,
  },
  DescribeLaunchTemplates: {
    send: () => clients.ec2.send(new DescribeLaunchTemplatesCommand({})),
    body: `<launchTemplates>${item('<launchTemplateId>lt-1</launchTemplateId><launchTemplateName>t</launchTemplateName>')}</launchTemplates>`,
  },
  TerminateInstances: {
    send: () => clients.ec2.send(new TerminateInstancesCommand({ InstanceIds: ['i-1'] })),
    body: `<instancesSet>${item('<instanceId>i-1</instanceId><currentState><name>shutting-down</name></currentState>')}</instancesSet>`,
  },
  CreateFleet: {
    send: () =>
      clients.ec2.send(new CreateFleetCommand({ LaunchTemplateConfigs: [], TargetCapacitySpecification: undefined })),
    body: `<fleetId>fleet-1</fleetId><errorSet/><fleetInstanceSet>${item(BOUGHT)}</fleetInstanceSet>`,
  },
  CreateTags: {
    send: () => clients.ec2.send(new CreateTagsCommand({ Resources: [], Tags: [] })),
    body: '<return>true</return>',
  },
  GetInstanceProfile: {
    send: () => clients.iam.send(new GetInstanceProfileCommand({ InstanceProfileName: 'p' })),
    body: '<GetInstanceProfileResult><InstanceProfile><InstanceProfileName>p</InstanceProfileName><Roles><member><RoleName>r</RoleName></member></Roles></InstanceProfile></GetInstanceProfileResult>',
  },
  ListInstanceProfiles: {
    send: () => clients.iam.send(new ListInstanceProfilesCommand({})),
    body: '<ListInstanceProfilesResult><InstanceProfiles/><IsTruncated>false</IsTruncated></ListInstanceProfilesResult>',
  },
  GetParameter: {
    send: () => clients.ssm.send(new GetParameterCommand({ Name: 'n' })),
    body: '{"Parameter":{"Value":"ami-1"}}',
  },
  DescribeCluster: {
    send: () => clients.eks.send(new DescribeClusterCommand({ name: 'c' })),
    body: '{"cluster":{"version":"1.34","kubernetesNetworkConfig":{"serviceIpv4Cidr":"10.0.0.0/16"}}}',
  },
  GetProducts: {
    send: () => clients.pricing.send(new GetProductsCommand({ ServiceCode: 'AmazonEC2' })),
    body: '{"PriceList":["{}"]}',
  },
  GetQueueUrl: {
    send: () => clients.sqs.send(new GetQueueUrlCommand({ QueueName: 'q' })),
    body: '{"QueueUrl":"http://q"}',
  },
  ReceiveMessage: {
    send: () => clients.sqs.send(new ReceiveMessageCommand({ QueueUrl: process.env.AWS_ENDPOINT_URL })),
    body: '{"Messages":[{"MessageId":"m","ReceiptHandle":"h","Body":"b","MD5OfBody":"92eb5ffee6ae2fec3ad71c777531578f"}]}',
  },
};
const OPERATIONS = Object.keys(GOOD);
const goodOf = (operation: string): Good => GOOD[operation] as Good;
const whole = (operation: string, body: string): string =>
  body.startsWith('{') ? body : `<?xml version="1.0"?>\n<${operation}Response xmlns="x">${body}</${operation}Response>`;

async function failureOf(operation: string, body: string): Promise<UnusableAnswer> {
  answer = { body };
  const error = await goodOf(operation)
    .send()
    .then(
      () => new Error('the answer was used'),
      (reason: unknown) => reason,
    );
  expect(error).toMatchObject({
    name: 'UnusableAnswer',
    message: expect.stringContaining(` to ${operation} is invalid`),
  });
  expect(isUnanswered(error)).toBe(true);
  return error as UnusableAnswer;
}

/** Returns a valid response with a part of it replaced. */
const changed = (operation: string, from: string | RegExp, to: string): string => {
  const good = goodOf(operation).body;
  const body = good.replace(from, to);
  if (body === good) throw new Error(`nothing to change of ${operation}`);
  return whole(operation, body);
};

describe('a response of AWS', () => {
  it.each(OPERATIONS)('is used if it is complete: %s', async (operation) => {
    answer = { body: whole(operation, goodOf(operation).body) };
    await goodOf(operation).send();
  });

  it.each(OPERATIONS)('is rejected if it is empty, malformed or of another call: %s', async (operation) => {
    for (const body of ['', 'null', '[]', '5', '<a><b/></a>', '<Response/>', whole('DescribeVpcs', '<vpcSet/>')])
      await failureOf(operation, body);
  });

  it.each(
    OPERATIONS.filter((operation) => !['CreateTags', 'ReceiveMessage'].includes(operation)),
  )('is rejected if all its fields are missing: %s', async (operation) => {
    const body = goodOf(operation).body.startsWith('{') ? '{}' : whole(operation, '<requestId>1</requestId>');
    expect((await failureOf(operation, body)).message).toMatch(/ is missing$/);
  });

  it.each([
    ['DescribeImages', /<imagesSet>.*/, '<imagesSet>none</imagesSet>', 'imagesSet is not a list'],
    ['DescribeImages', /<imagesSet>.*/, '<imagesSet><image/></imagesSet>', 'imagesSet is not a list'],
    ['DescribeImages', '<imageId>ami-1</imageId>', '', 'Images[0].ImageId is missing'],
    ['DescribeImages', 'ami-1', '-1e999', 'Images[0].ImageId is not an id such as ami-0123'],
    ['DescribeImages', '<architecture>arm64</architecture>', '<architecture/>', 'Images[0].Architecture is empty'],
    ['DescribeImages', '2025-01-01T00:00:00Z', '-1e999', 'Images[0].CreationDate is not a time'],
    ['DescribeImages', IMAGE, '', 'Images[0].ImageId is missing'],
    ['DescribeSubnets', '>5<', '>-1e999<', 'AvailableIpAddressCount is -Infinity, not a number from 0 to'],
    ['DescribeSubnets', '>5<', '>1e308<', 'AvailableIpAddressCount is 1e+308, not'],
    ['DescribeSubnets', '>5<', '>many<', 'AvailableIpAddressCount is NaN, not'],
    ['DescribeSubnets', '<availabilityZone>a</availabilityZone>', '', 'Subnets[0].AvailabilityZone is missing'],
    ['DescribeSecurityGroups', /<securityGroupInfo>.*/, '<securityGroupInfo>x</securityGroupInfo>', 'is not a list'],
    ['DescribeSecurityGroups', 'sg-1', '', 'SecurityGroups[0].GroupId is empty'],
    [
      'DescribeCapacityReservations',
      '<availableInstanceCount>1<',
      '<availableInstanceCount>-1<',
      'is -1, not a number',
    ],
    ['DescribeCapacityReservations', 'cr-1', '<a/>', 'is invalid'],
    ['DescribePlacementGroups', '>3<', '>0<', 'PartitionCount is 0'],
    ['DescribePlacementGroups', '<strategy>partition</strategy>', '', 'PlacementGroups[0].Strategy is missing'],
    ['DescribeInstances', /<reservationSet>.*/, '<reservationSet>0</reservationSet>', 'reservationSet is not a list'],
    ['DescribeInstances', /<instancesSet>.*<\/instancesSet>/, '<instancesSet>0</instancesSet>', 'instancesSet is not'],
    ['DescribeInstances', /<instancesSet>.*<\/instancesSet>/, '', 'Reservations[0].Instances is missing'],
    ['DescribeInstances', '<name>running</name>', '<name>gone</name>', 'State.Name is not the state of an instance'],
    ['DescribeInstances', /<instanceState>.*<\/instanceState>/, '<instanceState>16</instanceState>', 'Name is missing'],
    ['DescribeInstances', '2025-01-01T00:00:00Z', 'soon', 'cannot be parsed'],
    ['DescribeInstances', /<tagSet>.*<\/tagSet>/, '<tagSet>k</tagSet>', 'tagSet is not a list'],
    ['DescribeInstanceStatus', '<code>system-reboot</code>', '', 'Events[0].Code is missing'],
    ['DescribeInstanceStatus', '<status>failed</status>', '', 'Details[0].Status is missing'],
    ['DescribeLaunchTemplates', 'lt-1', '', 'LaunchTemplates[0].LaunchTemplateId is empty'],
    ['TerminateInstances', 'shutting-down', '', 'CurrentState.Name is empty'],
    ['CreateFleet', /<fleetInstanceSet>.*/, '', 'Instances is missing'],
    ['CreateFleet', /<fleetInstanceSet>.*/, '<fleetInstanceSet/>', 'Errors is empty'],
    ['CreateFleet', '<item>i-1</item>', '', 'Instances[0].InstanceIds is empty'],
    ['CreateFleet', '<availabilityZone>a</availabilityZone>', '', 'Overrides.AvailabilityZone is missing'],
    ['GetInstanceProfile', /<Roles>.*<\/Roles>/, '', 'InstanceProfile.Roles is missing'],
    ['GetInstanceProfile', /<Roles>.*<\/Roles>/, '<Roles>r</Roles>', 'Roles is not a list'],
    ['ListInstanceProfiles', '<InstanceProfiles/>', '<InstanceProfiles>p</InstanceProfiles>', 'is not a list'],
    ['ListInstanceProfiles', 'false', 'perhaps', 'IsTruncated is not true or false'],
    ['GetParameter', '"ami-1"', 'null', 'Parameter.Value is missing'],
    ['GetParameter', '"ami-1"', '-1e999', 'Parameter.Value is not a text'],
    ['GetParameter', '{"Value":"ami-1"}', '[]', 'Parameter'],
    ['DescribeCluster', '"1.34"', '1.34', 'cluster.version is not a text'],
    ['DescribeCluster', /,"kubernetesNetworkConfig.*/, '}}', 'cluster.kubernetesNetworkConfig is missing'],
    ['GetProducts', '["{}"]', '"{}"', 'PriceList is not a list'],
    ['GetQueueUrl', '"http://q"', '""', 'QueueUrl is empty'],
    ['ReceiveMessage', /\[.*\]/, '{}', 'Messages is not a list'],
    ['ReceiveMessage', ',"ReceiptHandle":"h"', '', 'Messages[0].ReceiptHandle is missing'],
  ])('is rejected with the problem: %s with %s for %s', async (operation, from, to, problem) => {
    expect((await failureOf(operation, changed(operation, from, to))).message).toContain(problem);
  });

  it.each([
    ['DescribeImages', '<imagesSet/>'],
    ['DescribeImages', '<imagesSet>\n  </imagesSet>'],
    ['DescribeSecurityGroups', '<securityGroupInfo></securityGroupInfo>'],
    ['DescribeInstances', '<reservationSet/>'],
    [
      'CreateFleet',
      '<fleetId>f</fleetId><errorSet><item><errorCode>E</errorCode></item></errorSet><fleetInstanceSet/>',
    ],
    ['GetProducts', '{"PriceList":[]}'],
    ['ReceiveMessage', '{}'],
    ['ReceiveMessage', '{"Messages":null}'],
  ])('contains an empty list if there is nothing: %s: %s', async (operation, body) => {
    answer = { body: whole(operation, body) };
    await goodOf(operation).send();
  });

  it.each([
    ['the age of an old image', 'DescribeImages', /<creationDate>.*<\/creationDate>/],
    ['the tags of an instance that has ended', 'DescribeInstances', /<tagSet>.*<\/tagSet>/],
  ])('is used without %s', async (_, operation, part) => {
    answer = { body: changed(operation, part, '') };
    await goodOf(operation).send();
  });

  it('is not checked if the provider reads none of its fields', async () => {
    answer = { body: '' };
    await clients.sqs.send(new DeleteMessageCommand({ QueueUrl: process.env.AWS_ENDPOINT_URL, ReceiptHandle: 'h' }));
  });
});

describe('the error of an AWS call', () => {
  it('quotes only a short part of an unreadable response', async () => {
    const secret = 'hunter2'.repeat(1_000);
    for (const body of [
      `<DescribeImagesResponse><imagesSet></${secret}>`,
      `<DescribeImagesResponse><imagesSet><item><imageId>${secret}</imageId></item></imagesSet></DescribeImagesResponse>`,
    ]) {
      const { message } = await failureOf('DescribeImages', body);
      expect(message.length).toBeLessThan(350);
    }
    const { message } = await failureOf('GetParameter', `{"Parameter":{"Value":"${secret}"`);
    expect(message).toBe('the response of SSM to GetParameter is invalid: it cannot be parsed');
    expect((await failureOf('GetParameter', `{"Parameter":{"Value":["${secret}"]}}`)).message).not.toContain('hunter2');
  });

  it('names the call if no response arrived', async () => {
    answer = { body: 'silence' };
    const { ec2Once } = await createClients({ fence: openFence(), answerMs: 50 });
    const error = await ec2Once.send(new DescribeSubnetsCommand({})).catch((reason: unknown) => reason);
    expect(error).toMatchObject({
      message: expect.stringMatching(/^calling DescribeSubnets, /),
      name: 'TimeoutError',
    });
    expect(isUnanswered(error)).toBe(true);
    answer = {
      status: 403,
      body: `<Response><Errors><Error><Code>No</Code><Message>${'n'.repeat(10_000)}</Message></Error></Errors></Response>`,
    };
    const refusal = (await goodOf('DescribeSubnets')
      .send()
      .catch((reason: unknown) => reason)) as Error;
    expect(refusal.name).toBe('No');
    expect(refusal.message.length).toBeLessThan(2_100);
    expect(isUnanswered(refusal)).toBe(false);
  });

  it('reports that a response is too long', async () => {
    answer = { body: whole('DescribeImages', `<!--${'x'.repeat(33 * 2 ** 20)}-->`) };
    await expect(goodOf('DescribeImages').send()).rejects.toThrow('it is longer than 33554432 bytes');
  });
});
