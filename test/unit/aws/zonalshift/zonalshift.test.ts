/** Avoidance of zones with an active zonal shift, with a stand-in for the service over real HTTP. */
import { createServer, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM } from '#api/objects';
import { instanceIdOfClaim } from '../../../../src/aws/instances/instance.ts';
import { ZonalShifts } from '../../../../src/aws/zonalshift/zonalshift.ts';
import { present } from '../../../support/present.ts';
import { Account, only } from '../support/account.ts';

const TYPE = only('node.kubernetes.io/instance-type', 'm5.large');
const ON_DEMAND = only('karpenter.sh/capacity-type', 'on-demand');

describe('a zonal shift', () => {
  it('lasts until it expires or is cancelled', async () => {
    let now = 0;
    let answer: Awaited<ReturnType<ConstructorParameters<typeof ZonalShifts>[0]['shifts']>> = [];
    const shifts = new ZonalShifts({ shifts: async () => answer }, 'arn', { now: () => now });
    const one = { awayFrom: 'az1', expiresMs: 1000, applied: true };
    answer = [one, { awayFrom: 'az2', expiresMs: 1000, applied: false }];
    await shifts.poll();
    expect(shifts.active()).toEqual(['az1']);
    expect(shifts.until('az1')).toBe(1000);

    // A shift that is missing in a response stays active, unless the response is empty.
    answer = [{ awayFrom: 'az3', expiresMs: 2000, applied: true }];
    await shifts.poll();
    expect(shifts.active()).toEqual(['az1', 'az3']);
    now = 1000;
    expect(shifts.active()).toEqual(['az3']);
    answer = [];
    await shifts.poll();
    expect(shifts.active()).toEqual([]);

    answer = [one];
    now = 0;
    await shifts.poll();
    answer = [{ ...one, applied: false }];
    await shifts.poll();
    expect(shifts.active()).toEqual([]);
  });
});

describe('an operator that observes zonal shifts', () => {
  let server: Server;
  let account: Account;
  const asked: { path: string | undefined; authorization: string | undefined }[] = [];
  let status = 200;
  let zonalShifts: unknown = [];
  let raw: string | undefined;

  beforeAll(async () => {
    server = createServer((request, response) => {
      asked.push({ path: request.url, authorization: request.headers.authorization });
      response.writeHead(status, { 'content-type': 'application/json' }).end(raw ?? JSON.stringify({ zonalShifts }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    const { port } = server.address() as AddressInfo;
    process.env.AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT = `http://127.0.0.1:${port}`;
    account = await Account.open({ flags: ['--enable-zonal-shift'] });
  });
  afterAll(async () => {
    delete process.env.AWS_ENDPOINT_URL_ARC_ZONAL_SHIFT;
    server.close();
    await account.close();
  });

  it('requests the shifts of its cluster, in a signed request', () => {
    expect(decodeURIComponent(present(asked[0]?.path))).toMatch(
      /^\/managedresources\/arn:aws:eks:us-west-2:\d+:cluster\/test$/,
    );
    expect(asked[0]?.authorization).toMatch(
      /^AWS4-HMAC-SHA256 Credential=\S+\/us-west-2\/arc-zonal-shift\/aws4_request/,
    );
  });

  it('launches no instances in the zone, keeps running instances, and reports the shift on the NodePools', async () => {
    const claim = account.write(await account.provider.create(account.claim(TYPE, ON_DEMAND)));
    const id = present(instanceIdOfClaim(claim));
    await account.started(id);
    await account.provider.list();
    const zone = claim.metadata.labels?.['topology.kubernetes.io/zone'];
    const zoneId = claim.metadata.labels?.['topology.k8s.aws/zone-id'];
    const expiryTime = account.clock.now() / 1000 + 3600;
    zonalShifts = [{ awayFrom: zoneId, expiryTime, appliedStatus: 'APPLIED' }];
    expect(await account.reconcile('zonalshift')).toEqual({ kind: 'after', waitMs: 30_000 });
    expect(account.events.map(({ reason, message }) => `${reason}: ${message}`)).toEqual([
      `ZonalShiftActive: Zonal shift detected: offerings in zone ${zone} (${zoneId}) are unavailable for this NodePool`,
    ]);

    const types = await account.provider.instanceTypes(account.nodePool('default'));
    const offerings = types.find(({ name }) => name === 'm5.large')?.offerings ?? [];
    const there = offerings.filter(({ requirements }) =>
      requirements.some(({ values }) => values?.includes(zone ?? '')),
    );
    expect(there.map(({ available }) => available)).toEqual([false, false]);
    const [report] = await account.offerings();
    expect(report?.out.find((each) => each.zone === zone)).toMatchObject({ code: 'zonal-shift' });
    const other = await account.provider.create(account.claim(TYPE, ON_DEMAND));
    expect(other.metadata.labels?.['topology.kubernetes.io/zone']).not.toBe(zone);

    account.aws.calls.clear();
    await expect(account.provider.delete(claim)).rejects.toThrow(
      `instance ${id} is in zonally shifted availability zone ${zone} (${zoneId}), skipping termination`,
    );
    expect((await account.provider.get(present(claim.status?.providerID))).status?.providerID).toBe(
      claim.status?.providerID,
    );
    const named = account.kube.put(NODE_CLAIM, { ...claim, status: { ...claim.status, nodeName: 'node' } });
    await expect(account.reconcileClaim('nodeclaim.tagging', named)).rejects.toThrow('skipping tagging');
    expect(account.aws.calls.counts()).toEqual({});
  });

  it.each([
    ['nothing', '{}', 'zonalShifts is missing'],
    ['null', '{"zonalShifts":null}', 'zonalShifts is missing'],
    ['no JSON', '<a/>', 'it is not a JSON object'],
    ['a text', '{"zonalShifts":"none"}', 'zonalShifts is not a list'],
    ['no zone', '{"zonalShifts":[{"expiryTime":1,"appliedStatus":"APPLIED"}]}', 'zonalShifts[0].awayFrom is missing'],
    [
      'an end before all time',
      '{"zonalShifts":[{"awayFrom":"usw2-az1","expiryTime":-1e999,"appliedStatus":"APPLIED"}]}',
      'zonalShifts[0].expiryTime is -Infinity',
    ],
    [
      'no word of whether it applies',
      '{"zonalShifts":[{"awayFrom":"usw2-az1","expiryTime":1}]}',
      'zonalShifts[0].appliedStatus is missing',
    ],
  ])('keeps avoiding the zone if the response has %s', async (_, body, problem) => {
    const before = await account.offerings();
    raw = body;
    await expect(account.reconcile('zonalshift')).rejects.toThrow(problem);
    raw = undefined;
    expect(await account.offerings()).toEqual(before);
  });

  it('uses the zone again after the shift', async () => {
    account.events.length = 0;
    zonalShifts = [];
    await account.reconcile('zonalshift');
    expect(account.events.map(({ reason, type }) => [type, reason])).toEqual([['Normal', 'ZonalShiftCleared']]);
    const types = await account.provider.instanceTypes(account.nodePool('default'));
    const offerings = types.find(({ name }) => name === 'm5.large')?.offerings ?? [];
    expect(offerings.filter(({ available }) => available).length).toBeGreaterThanOrEqual(3);
  });

  it('does not start if the cluster is not registered', async () => {
    status = 404;
    const message = '--enable-zonal-shift is set, but zonal shifts of cluster "test" cannot be read';
    await expect(account.restart()).rejects.toMatchObject({ cause: { message: expect.stringContaining(message) } });
    status = 200;
    await account.restart();
  });
});
