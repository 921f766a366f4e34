/** Calls during the start, over real HTTP. */
import { once } from 'node:events';
import { createServer, type RequestListener, type Server, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import type { Clock } from '#lib/clock';
import { type Clients, clientsIn } from '../../../../src/aws/clients.ts';
import { AwsStart } from '../../../../src/aws/start/aws-start.ts';

const EMPTY = '<DescribeVpcsResponse><vpcSet/></DescribeVpcsResponse>';
const ANSWER: RequestListener = (_, response) => response.writeHead(200, { 'content-type': 'text/xml' }).end(EMPTY);

const refuse = (response: ServerResponse, status: number, code: string): void => {
  const error = `<Error><Code>${code}</Code><Message>no</Message></Error>`;
  response.writeHead(status, { 'content-type': 'text/xml' }).end(`<Response><Errors>${error}</Errors></Response>`);
};

let environment: NodeJS.ProcessEnv;
let server: Server;
let url: string;
let respond: RequestListener;
let interrupt: AbortController;
let start: AwsStart;
let clients: Clients;

/** Pauses between attempts take one turn of the event loop. */
const hurried = {
  now: () => 0,
  after: () => () => undefined,
  sleep: async () => void (await new Promise(setImmediate)),
};

beforeEach(async () => {
  environment = { ...process.env };
  respond = ANSWER;
  server = createServer((request, response) => {
    request.resume();
    respond(request, response);
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  Object.assign(process.env, { AWS_ENDPOINT_URL: url, AWS_ACCESS_KEY_ID: 'local', AWS_SECRET_ACCESS_KEY: 'local' });
  interrupt = new AbortController();
  start = new AwsStart(interrupt.signal);
  clients = clientsIn('us-west-2', { clock: hurried as Clock, start });
  start.watch('us-west-2', [clients.ec2]);
});
afterEach(() => {
  process.env = environment;
  server.closeAllConnections();
  server.close();
});

const describeVpcs = (): Promise<unknown> => clients.ec2.send(new DescribeVpcsCommand({}));

describe('a start', () => {
  it('waits for the region first', () => {
    expect(new AwsStart(interrupt.signal).waitingFor()).toEqual([expect.stringContaining('the AWS region')]);
  });

  it('logs the call, the endpoint and the region that it waits for', async () => {
    const arrived = Promise.withResolvers<ServerResponse>();
    respond = (_, response) => arrived.resolve(response);
    const call = describeVpcs();
    const response = await arrived.promise;
    expect(start.waitingFor()).toEqual([`EC2 DescribeVpcs at ${url} in region us-west-2`]);
    response.writeHead(200, { 'content-type': 'text/xml' }).end(EMPTY);
    await call;
    expect(start.waitingFor()).toEqual(['the AWS provider']);
    start.end();
    expect(start.waitingFor()).toEqual([]);
  });

  it('repeats a call while AWS is unreachable, and logs the last failure', async () => {
    let attempts = 0;
    let seen: readonly string[] = [];
    respond = (request, response) => {
      attempts += 1;
      if (attempts === 30) seen = start.waitingFor();
      if (attempts < 60) refuse(response, 503, 'Unavailable');
      else ANSWER(request, response);
    };
    await describeVpcs();
    expect(attempts).toBe(60);
    expect(seen).toEqual([expect.stringMatching(/ in region us-west-2, the last attempt failed: .+/)]);
  });

  it('repeats a call six times after the outage', async () => {
    let attempts = 0;
    respond = (_, response) => {
      attempts += 1;
      refuse(response, 503, 'Unavailable');
    };
    start.end();
    await expect(describeVpcs()).rejects.toThrow('calling DescribeVpcs');
    expect(attempts).toBe(6);
  });

  it('does not repeat a call that AWS rejects', async () => {
    let attempts = 0;
    respond = (_, response) => {
      attempts += 1;
      refuse(response, 403, 'UnauthorizedOperation');
    };
    await expect(describeVpcs()).rejects.toMatchObject({ name: 'UnauthorizedOperation' });
    expect(attempts).toBe(1);
  });

  it.each([
    'while it waits for an answer',
    'while it waits between attempts',
  ])('can be interrupted %s', async (when) => {
    const arrived = Promise.withResolvers<void>();
    respond = (_, response) => {
      if (when.includes('between')) refuse(response, 503, 'Unavailable');
      arrived.resolve();
    };
    const call = describeVpcs();
    await arrived.promise;
    interrupt.abort(new Error('stop'));
    await expect(call).rejects.toThrow();
  });
});
