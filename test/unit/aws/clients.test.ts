import { once } from 'node:events';
import { createServer, type RequestListener } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createClients } from '../../../src/aws/clients.ts';
import { openFence } from '../../../src/kube/fence.ts';
import { type Endpoint, serveAws } from './support/endpoint.ts';

let requests: number;
let endpoint: Endpoint;

beforeEach(async () => {
  requests = 0;
  endpoint = await serveAws(() => void requests++);
});
afterEach(() => endpoint.close());

describe('a client of an AWS that accepts calls and never answers', () => {
  it('gives up in the end', async () => {
    const { ec2Once } = await createClients({ fence: openFence(), answerMs: 1_000 });
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toBe(1);
  });
});

describe('a client of an AWS that begins to answer and does not end', () => {
  it.each([
    { how: 'silent', again: 0 },
    { how: 'a little at a time', again: 5 },
  ])('gives up in the end: $how', async ({ again }) => {
    const timers: NodeJS.Timeout[] = [];
    endpoint.server.once('request', (_, response) => {
      response.writeHead(200, { 'content-type': 'text/xml' }).write('<DescribeVpcsResponse>');
      if (again > 0) timers.push(setInterval(() => response.write('<a/>'), again));
    });
    const { ec2Once } = await createClients({ fence: openFence(), answerMs: 2_000 });
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toThrow(
      'the answer of AWS did not end within 2000 ms',
    );
    for (const timer of timers) clearInterval(timer);
  });
});

describe('a client', () => {
  it('copies neither inputs nor outputs for a logger that nobody has given', async () => {
    const { region: _, shifts: __, ...clients } = await createClients({ fence: openFence() });
    for (const { middlewareStack } of Object.values(clients))
      expect(middlewareStack.identify().filter((step) => step.includes('logger'))).toEqual([]);
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
  const whatToDo = /^the AWS region is not known: set AWS_REGION, or region for the profile/;

  it('is that of the instance where nothing else names one', async () => {
    expect(await withoutRegion(instance)).toBe('eu-west-1');
  });

  it('is not believed of an instance that names something else', async () => {
    const page: RequestListener = (_, response) => response.end('<html>sign in</html>');
    await expect(withoutRegion(page)).rejects.toThrow(whatToDo);
  });

  it('is not asked of an instance whose metadata are switched off', async () => {
    await expect(withoutRegion(instance, { AWS_EC2_METADATA_DISABLED: 'true' })).rejects.toThrow(whatToDo);
  });

  it('can be set in ways that the error names, where no instance tells it', async () => {
    await expect(withoutRegion((_, response) => response.writeHead(404).end())).rejects.toThrow(whatToDo);
  });
});
