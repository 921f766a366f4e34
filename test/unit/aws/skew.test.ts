/** A machine whose clock is an hour off AWS's clock: requests are signed, and credentials renewed, by AWS's time. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import { DescribeVpcsCommand } from '@aws-sdk/client-ec2';
import { afterEach, beforeEach, describe, expect, it } from '@jest/globals';
import { clientsIn } from '../../../src/aws/clients.ts';
import { type VirtualClock, virtualClock } from '../virtualclock.ts';
import { type Endpoint, serveAws } from './support/endpoint.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
const CREDENTIALS = '/credentials';
const EMPTY = '<DescribeVpcsResponse><vpcSet/></DescribeVpcsResponse>';

let endpoint: Endpoint;
let clock: VirtualClock;
let credentials: number;
let refused: string[];
let before: NodeJS.ProcessEnv;

beforeEach(async () => {
  [credentials, refused] = [0, []];
  endpoint = await serveAws(answer);
  before = { ...process.env };
  delete process.env.AWS_ACCESS_KEY_ID;
  process.env.AWS_CONTAINER_CREDENTIALS_FULL_URI = `${process.env.AWS_ENDPOINT_URL}${CREDENTIALS}`;
});
afterEach(async () => {
  process.env = before;
  await endpoint.close();
});

/** Milliseconds since the epoch of `20260601T120000Z`. */
const timeOf = (text: string): number =>
  Date.parse(text.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'));

/** Refuses, as AWS does, requests with a signature that is off by five minutes or with expired credentials. */
function answer(request: IncomingMessage, response: ServerResponse): void {
  response.setHeader('date', new Date(clock.now()).toUTCString());
  if (request.url === CREDENTIALS) {
    credentials += 1;
    const expiresMs = clock.now() + HOUR;
    const [AccessKeyId, Expiration] = [`AKIA${expiresMs}`, new Date(expiresMs).toISOString()];
    response.writeHead(200, { 'content-type': 'application/json' });
    return void response.end(JSON.stringify({ AccessKeyId, SecretAccessKey: 'x', Token: 'x', Expiration }));
  }
  const code = faultOf(request);
  if (code !== undefined) refused.push(code);
  response.writeHead(code === undefined ? 200 : 400, { 'content-type': 'text/xml' });
  response.end(
    code === undefined
      ? EMPTY
      : `<Response><Errors><Error><Code>${code}</Code><Message>no</Message></Error></Errors></Response>`,
  );
}

function faultOf({ headers }: IncomingMessage): string | undefined {
  if (Math.abs(timeOf(String(headers['x-amz-date'])) - clock.now()) > 5 * MINUTE) return 'RequestExpired';
  const expiresMs = Number(/AKIA(\d+)/.exec(headers.authorization ?? '')?.[1]);
  return expiresMs > clock.now() ? undefined : 'ExpiredToken';
}

describe.each([
  ['an hour ahead of', -HOUR],
  ['an hour behind', HOUR],
  ['two hours ahead of', -2 * HOUR],
  ['in step with', 0],
])('a machine whose clock is %s that of AWS', (_, aheadMs) => {
  beforeEach(() => {
    clock = virtualClock(Date.now() + aheadMs);
  });

  it.each(['ec2', 'ec2Once'] as const)('gets successful responses to all requests of %s', async (name) => {
    const client = clientsIn('us-west-2', { clock })[name];
    for (let call = 0; call < 3; call += 1) {
      const { Vpcs } = await client.send(new DescribeVpcsCommand({}));
      expect(Vpcs).toEqual([]);
    }
    expect(refused).toEqual(aheadMs === 0 ? [] : ['RequestExpired']);
  });

  it('renews credentials once before they expire, and not before', async () => {
    const { ec2 } = clientsIn('us-west-2', { clock });
    // in steps that AWS tolerates, because the clock of the machine stands still
    for (let minute = 0; minute < 180; minute += 4) {
      await Promise.all(Array.from({ length: 3 }, () => ec2.send(new DescribeVpcsCommand({}))));
      await clock.advance(4 * MINUTE);
    }
    expect(refused.filter((code) => code === 'ExpiredToken')).toEqual([]);
    expect(credentials).toBe(4);
  });
});
