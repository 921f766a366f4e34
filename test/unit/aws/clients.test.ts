import { once } from 'node:events';
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { createClients } from '../../../src/aws/clients.ts';

const ENVIRONMENT = { ...process.env };
let requests: number;
const server = createServer(() => void requests++);

beforeEach(async () => {
  requests = 0;
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  Object.assign(process.env, {
    AWS_ENDPOINT_URL: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    AWS_REGION: 'us-west-2',
    AWS_ACCESS_KEY_ID: 'local',
    AWS_SECRET_ACCESS_KEY: 'local',
  });
});
afterEach(async () => {
  process.env = { ...ENVIRONMENT };
  server.closeAllConnections();
  server.close();
  await once(server, 'close');
});

describe('a client of an AWS that accepts calls and never answers', () => {
  it('gives up in the end', async () => {
    const { ec2Once } = await createClients(50);
    await expect(ec2Once.send(new DescribeVpcsCommand({}))).rejects.toMatchObject({ name: 'TimeoutError' });
    expect(requests).toBe(1);
  });
});
