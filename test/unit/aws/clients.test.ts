import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeImagesCommand, DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { ReceiveMessageCommand } from '@aws-sdk/client-sqs';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { openFence } from '#kube/client';
import { clientsIn, createClients } from '../../../src/aws/clients.ts';
import { type Endpoint, serveAws } from './support/endpoint.ts';

let requests: number;
let endpoint: Endpoint;

beforeEach(async () => {
  requests = 0;
  endpoint = await serveAws(() => void requests++);
});
afterEach(() => endpoint.close());

describe('a client of an AWS endpoint that accepts calls and never responds', () => {
  it('times out', async () => {
    const { ec2Once } = await createClients({ fence: openFence(), answerMs: 1_000 });
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toBe(1);
  });
});

describe('a client of an AWS endpoint that starts a response and does not finish it', () => {
  it.each([
    { how: 'silent', again: 0 },
    { how: 'a little at a time', again: 5 },
  ])('times out: $how', async ({ again }) => {
    const timers: NodeJS.Timeout[] = [];
    endpoint.server.once('request', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' }).write('<DescribeVpcsResponse>');
      if (again > 0) timers.push(setInterval(() => response.write('<a/>'), again));
    });
    const { ec2Once } = await createClients({ fence: openFence(), answerMs: 2_000 });
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toThrow(
      'the response of AWS did not end within 2000 ms',
    );
    for (const timer of timers) clearInterval(timer);
  });
});

describe('a client', () => {
  it('does not copy inputs or outputs for a logger if none is configured', async () => {
    const { region: _, shifts: __, ...clients } = await createClients({ fence: openFence() });
    for (const { middlewareStack } of Object.values(clients))
      expect(middlewareStack.identify().filter((step) => step.includes('logger'))).toEqual([]);
  });
});

describe('a call that waits for credentials', () => {
  it('fails with an error of its own that names the call once', async () => {
    for (const name of ['AWS_ACCESS_KEY_ID', 'AWS_SECRET_ACCESS_KEY']) delete process.env[name];
    Object.assign(process.env, {
      AWS_CONFIG_FILE: '/nonexistent',
      AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
      AWS_EC2_METADATA_DISABLED: 'true',
    });
    const { ec2 } = await createClients();
    const calls = [new DescribeVpcsCommand({}), new DescribeImagesCommand({}), new DescribeVpcsCommand({})];
    const errors = await Promise.all(calls.map((call) => ec2.send(call).catch((error: unknown) => error)));
    const text = 'Could not load credentials from any providers';
    const failure = (operation: string) => ({
      name: 'CredentialsProviderError',
      message: `calling ${operation}, ${text}`,
      $operation: operation,
    });
    expect(errors).toMatchObject(['DescribeVpcs', 'DescribeImages', 'DescribeVpcs'].map(failure));
    expect(requests).toBe(0);
  });
});

describe('a call to the queue', () => {
  const QUEUE_URL = 'https://sqs.elsewhere.example.com/123456789012/queue';

  /** Returns the endpoint of a request for messages. */
  async function hostOf(region: string, env: Readonly<Record<string, string>>): Promise<string> {
    delete process.env.AWS_ENDPOINT_URL;
    Object.assign(process.env, env);
    const { sqs } = clientsIn(region, { fence: openFence() });
    let host = '';
    sqs.config.requestHandler.handle = async ({ protocol, hostname, port }) => {
      host = `${protocol}//${hostname}${port === undefined ? '' : `:${port}`}`;
      throw Object.assign(new Error('enough'), { name: 'Enough' });
    };
    const call = sqs.send(new ReceiveMessageCommand({ QueueUrl: QUEUE_URL }));
    await expect(call).rejects.toThrow('enough');
    return host;
  }

  it.each([
    ['us-west-2', {}, 'https://sqs.us-west-2.amazonaws.com'],
    ['cn-north-1', {}, 'https://sqs.cn-north-1.amazonaws.com.cn'],
    ['us-gov-west-1', {}, 'https://sqs.us-gov-west-1.amazonaws.com'],
    ['us-west-2', { AWS_USE_FIPS_ENDPOINT: 'true' }, 'https://sqs-fips.us-west-2.amazonaws.com'],
    ['us-west-2', { AWS_USE_DUALSTACK_ENDPOINT: 'true' }, 'https://sqs.us-west-2.api.aws'],
    ['us-west-2', { AWS_ENDPOINT_URL: 'http://127.0.0.1:4566' }, 'http://127.0.0.1:4566'],
    [
      'us-west-2',
      { AWS_ENDPOINT_URL: 'http://127.0.0.1:4566', AWS_ENDPOINT_URL_SQS: 'http://127.0.0.1:4577' },
      'http://127.0.0.1:4577',
    ],
  ])('goes, for region %s with %j, to %s, independent of the host in the URL', async (region, env, host) => {
    expect(await hostOf(region, env)).toBe(host);
  });
});

describe('the region', () => {
  const withoutRegion = async (
    answer: RequestListener,
    more: Readonly<Record<string, string>> = {},
  ): Promise<string> => {
    const metadata = createServer(answer).listen(0, '127.0.0.1');
    await once(metadata, 'listening');
    Object.assign(process.env, {
      AWS_CONFIG_FILE: '/nonexistent',
      AWS_SHARED_CREDENTIALS_FILE: '/nonexistent',
      AWS_EC2_METADATA_SERVICE_ENDPOINT: `http://127.0.0.1:${(metadata.address() as AddressInfo).port}`,
      AWS_EC2_METADATA_DISABLED: 'false',
      ...more,
    });
    delete process.env.AWS_REGION;
    delete process.env.AWS_DEFAULT_REGION;
    try {
      const clients = await createClients({ fence: openFence() });
      expect(await clients.sqs.config.region()).toBe(clients.region);
      return clients.region;
    } finally {
      metadata.closeAllConnections();
      metadata.close();
    }
  };
  const instance: RequestListener = ({ method, url, headers }, response) => {
    const isToken = method === 'PUT' && url === '/latest/api/token';
    const isRegion = headers['x-aws-ec2-metadata-token'] === 'token' && url === '/latest/meta-data/placement/region';
    response.writeHead(isToken || isRegion ? 200 : 401).end(isToken ? 'token' : 'eu-west-1');
  };
  const whatToDo = /^the AWS region is unknown; set AWS_REGION, or region for the profile/;

  it('is the region of the instance if no other source names one', async () => {
    expect(await withoutRegion(instance)).toBe('eu-west-1');
  });

  it('is ignored if the instance returns another value', async () => {
    const page: RequestListener = (_, response) => response.end('<html>sign in</html>');
    await expect(withoutRegion(page)).rejects.toThrow(whatToDo);
  });

  it('is not requested if the metadata of the instance are disabled', async () => {
    await expect(withoutRegion(instance, { AWS_EC2_METADATA_DISABLED: 'true' })).rejects.toThrow(whatToDo);
  });

  it('can be set in ways that the error names if the instance returns no region', async () => {
    await expect(withoutRegion((_, response) => response.writeHead(404).end())).rejects.toThrow(whatToDo);
  });
});
