import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { PoolOfferings } from '#aws/instance-types';
import { offeringsCommand, offeringsText } from '../../../src/cli/offerings.ts';
import { at80, tooWide } from './at80.ts';

const short = {
  instanceType: 'm5.large',
  capacityType: 'spot',
  code: 'insufficient-capacity',
  reason: 'InsufficientInstanceCapacity',
  until: '2026-06-03T10:30:00.000Z',
} as const;
const POOLS: readonly PoolOfferings[] = [
  {
    nodePool: 'default',
    nodeClass: 'linux',
    available: 4,
    out: [
      { ...short, zone: 'us-west-2b' },
      { ...short, zone: 'us-west-2a' },
      {
        instanceType: 'p5.48xlarge',
        capacityType: 'reserved',
        zone: 'us-west-2a',
        code: 'reservation-used-up',
        reservation: 'cr-1',
      },
    ],
  },
  {
    nodePool: 'full',
    nodeClass: 'linux',
    available: 1,
    out: [],
    spotRisk: [
      {
        ...{ instanceType: 'm5.large', zone: 'us-west-2a', interruptions: 6.5, capacityErrors: 0 },
        ...{ instanceHours: 12.25, interruptionsPerHour: 0.18, addedPart: 0.2 },
      },
    ],
  },
  { nodePool: 'lost', nodeClass: 'none', available: 0, out: [], problem: 'the NodeClass does not exist' },
  { nodePool: 'unready', nodeClass: 'linux', available: 9, out: [], notReady: 'EC2NodeClass linux: no subnets' },
];

describe('offeringsText', () => {
  it('lists unavailable offerings by type, capacity type and reason', () => {
    expect(offeringsText(POOLS)).toBe(`NodePool default (EC2NodeClass linux): 4 of 7 offerings available
INSTANCE TYPE  CAPACITY       ZONES                  OUT BECAUSE OF                                        UNTIL
m5.large       spot           us-west-2a us-west-2b  insufficient-capacity (InsufficientInstanceCapacity)  2026-06-03T10:30:00Z
p5.48xlarge    reserved cr-1  us-west-2a             reservation-used-up

NodePool full (EC2NodeClass linux): 1 of 1 offering available
SPOT POOL  ZONE        INTERRUPTIONS  NO CAPACITY  HOURS  PLANNING
m5.large   us-west-2a  6.5            0            12.25  +20 %

NodePool lost (EC2NodeClass none): unknown, the NodeClass does not exist

NodePool unready (EC2NodeClass linux): not Ready, no nodes are launched: EC2NodeClass linux: no subnets
`);
    expect(offeringsText([])).toBe('there is no NodePool\n');
  });

  it('counts spot pools without added price instead of listing them, and fits into 80 columns', () => {
    const pools: readonly PoolOfferings[] = POOLS.map((each) => ({
      ...each,
      ...(each.spotRisk && {
        spotRisk: [
          ...each.spotRisk,
          ...Array.from({ length: 150 }, (_, at) => ({
            ...{ instanceType: `m${at}.large`, zone: 'us-west-2a', interruptions: 0, capacityErrors: 1 },
            ...{ instanceHours: 100, interruptionsPerHour: 0, addedPart: 0.004 },
          })),
        ],
      }),
    }));
    const text = at80(() => offeringsText(pools.slice(0, 2)));
    expect(text).toMatchSnapshot();
    expect(tooWide(text)).toEqual([]);
  });
});

describe('karpenter offerings', () => {
  let server: Server;
  let url: string;
  let printed: string;
  let status: number;
  beforeEach(async () => {
    status = 200;
    server = createServer((request, response) => {
      const body = request.url === '/debug/offerings' && status === 200 ? JSON.stringify(POOLS) : 'stands by';
      response.writeHead(status).end(body);
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
    printed = '';
    jest.spyOn(process.stdout, 'write').mockImplementation((text) => {
      printed += String(text);
      return true;
    });
  });
  afterEach(() => {
    jest.restoreAllMocks();
    server.closeAllConnections();
    server.close();
  });
  const run = (...args: readonly string[]) => offeringsCommand().parseAsync(args, { from: 'user' });

  it('requests one NodePool or all from the operator', async () => {
    await run('--server', url, 'full', '-o', 'json');
    expect(JSON.parse(printed)).toEqual([POOLS[1]]);
    printed = '';
    await run('--server', url, 'full', '-o', 'yaml');
    expect(printed).toMatch(/^- nodePool: full\n/);
    printed = '';
    await run('--server', url);
    expect(printed).toBe(offeringsText(POOLS));
  });

  it('reports the error of a failed request', async () => {
    await expect(run('--server', url, 'nothing')).rejects.toThrow(
      `NodePool "nothing" not found by the operator at ${url}; existing names: default, full, lost, unready`,
    );
    status = 503;
    await expect(run('--server', url)).rejects.toThrow('/debug/offerings returned HTTP status 503: stands by');
    status = 200;
    await expect(run('--server', 'http://127.0.0.1:1')).rejects.toThrow('that its metrics port is forwarded');
    await expect(run('--server', 'http://8080')).rejects.toThrow('--server: "http://8080" has no host; for a port of');
    await expect(run('--server', '80800')).rejects.toThrow(
      '--server: "80800" is not a valid port; use for example http://127.0.0.1',
    );
    await expect(run('--server', 'http://[')).rejects.toThrow(
      '--server: "http://[" is not a valid URL or port; use for example',
    );
  });

  it('accepts an address without scheme', async () => {
    await run('--server', url.replace('http://127.0.0.1:', ''), 'full');
    await run('--server', url.replace('http://', ''), 'full');
    expect(printed).toMatch(/^NodePool full /);
  });
});
