import { once } from 'node:events';
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { CreateFleetCommand, DescribeVpcsCommand, TerminateInstancesCommand } from '@aws-sdk/client-ec2';
import { DeleteMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { Leadership, NotPermitted } from '#kube/client';
import { createClients, isMutating } from '../../../src/aws/clients.ts';
import { virtualClock } from '../virtualclock.ts';
import { type Endpoint, serveAws } from './support/endpoint.ts';

let endpoint: Endpoint;
let leadership: Leadership;
let requests: number;

beforeEach(async () => {
  requests = 0;
  endpoint = await serveAws(() => void requests++);
  leadership = new Leadership(virtualClock());
});
afterEach(() => endpoint.close());

const terminate = new TerminateInstancesCommand({ InstanceIds: ['i-1'] });

describe('an AWS client with a fence', () => {
  it('sends no mutating call unless the lease is held', async () => {
    const { ec2, sqs } = await createClients({ fence: leadership });
    await expect(ec2.send(terminate)).rejects.toThrow(NotPermitted);
    leadership.end('over');
    await expect(ec2.send(terminate)).rejects.toThrow('the request was not sent: over');
    await expect(
      sqs.send(new DeleteMessageCommand({ QueueUrl: 'http://127.0.0.1/q', ReceiptHandle: 'r' })),
    ).rejects.toThrow(NotPermitted);
    expect(requests).toBe(0);
  });

  it('sends reads and dry runs without the lease', async () => {
    const { ec2Once } = await createClients({ answerMs: 200 });
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({ name: 'TimeoutError' });
    const dryRun = { DryRun: true, LaunchTemplateConfigs: [], TargetCapacitySpecification: { TotalTargetCapacity: 1 } };
    await expect(ec2Once.send(new CreateFleetCommand(dryRun))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toBe(2);
  });

  it('refuses every write if it was created without a fence', async () => {
    const { ec2 } = await createClients();
    await expect(ec2.send(terminate)).rejects.toThrow('this client is read-only');
    expect(requests).toBe(0);
  });

  it('cuts off an open call when the lease is lost, and does not repeat it', async () => {
    leadership.renew();
    const { ec2 } = await createClients({ fence: leadership });
    const arrived = once(endpoint.server, 'request');
    const terminated = ec2.send(terminate);
    const [, response] = await arrived;
    const hungUp = once(response, 'close');
    leadership.end('over');
    await expect(terminated).rejects.toMatchObject({ name: 'AbortError' });
    await hungUp;
    expect(requests).toBe(1);
  });

  it('cuts off calls that have a signal of their own', async () => {
    leadership.renew();
    const { ec2 } = await createClients({ fence: leadership });
    const arrived = once(endpoint.server, 'request');
    const terminated = ec2.send(terminate, { abortSignal: new AbortController().signal });
    await arrived;
    leadership.end('over');
    await expect(terminated).rejects.toMatchObject({ name: 'AbortError' });
  });
});

describe('isMutating', () => {
  const SRC = join(import.meta.dirname, '../../../src/aws');
  const commands = new Set(
    readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((file) => file.endsWith('.ts'))
      .flatMap((file) => [...readFileSync(join(SRC, file), 'utf8').matchAll(/new (\w+Command)\(/g)])
      .map(([, name = '']) => name),
  );

  it('counts each call that the operator makes as a read or as a write', () => {
    expect([...commands].filter((name) => !isMutating(name, {})).sort()).toEqual([
      'DescribeCapacityReservationsCommand',
      'DescribeClusterCommand',
      'DescribeImagesCommand',
      'DescribeInstanceStatusCommand',
      'DescribeInstanceTypeOfferingsCommand',
      'DescribeInstanceTypesCommand',
      'DescribeInstancesCommand',
      'DescribeLaunchTemplatesCommand',
      'DescribePlacementGroupsCommand',
      'DescribeSecurityGroupsCommand',
      'DescribeSpotPriceHistoryCommand',
      'DescribeSubnetsCommand',
      'GetCallerIdentityCommand',
      'GetInstanceProfileCommand',
      'GetParameterCommand',
      'GetProductsCommand',
      'GetQueueAttributesCommand',
      'GetQueueUrlCommand',
      'GetRoleCommand',
      'ListInstanceProfilesCommand',
      'SimulatePrincipalPolicyCommand',
    ]);
    expect(isMutating('CreateFleetCommand', { DryRun: false })).toBe(true);
  });
});
