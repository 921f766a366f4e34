/** The operator's log during an idle hour, and during an hour of repeated failures. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { deployment, type LogLine, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Time scale for idle periods, in which no work takes real time. */
const IDLE = 600;

/** A world in which each test adds its own failure, and removes it. */
let started: Scenario;
beforeAll(async () => {
  started = await startScenario();
  await started.apply(...started.example('ec2nodeclass.yaml'), ...started.example('nodepool.yaml'));
  await started.apply(deployment('web', 3, apart('web')));
  await started.until('3 running pods', async () => (await started.running('web')).length === 3);
  await started.pass(10 * MINUTE, IDLE);
});
afterAll(() => started.stop());

/**
 * Returns the log lines of one hour. Expects each error line to contain a remedy, and to name its object if its
 * controller has objects.
 */
async function linesOfAnHour(): Promise<readonly LogLine[]> {
  const before = started.log.length;
  await started.pass(HOUR, IDLE);
  const lines = started.log.slice(before);
  for (const line of lines.filter(({ level }) => level === 'ERROR')) {
    expect(line).toEqual(expect.objectContaining({ controller: expect.any(String), remedy: expect.any(String) }));
    expect(line).toHaveProperty('error');
  }
  return lines;
}

/** Returns the number of lines for each failure. */
const timesOf = (lines: readonly LogLine[]): readonly number[] =>
  [
    ...Map.groupBy(lines, ({ message, controller, name, error }) => JSON.stringify([message, controller, name, error])),
  ].map(([, same]) => same.length);

describe('the log', () => {
  it('has no line for an idle hour', async () => {
    expect(await linesOfAnHour()).toEqual([]);
  });

  it('reports each pod that cannot be scheduled for as long as it is pending', async () => {
    await started.apply(deployment('lost', 2, { nodeSelector: { 'topology.kubernetes.io/zone': 'nowhere' } }));
    const lines = await linesOfAnHour();
    await started.scale('lost', 0);
    const refused = lines.filter(({ message }) => message === 'could not schedule pod');
    expect(new Set(refused.map(({ Pod }) => (Pod as { name: string }).name)).size).toBe(2);
    expect(refused.length).toBeLessThanOrEqual(10);
    expect(refused.at(-1)).toMatchObject({
      repeated: expect.any(Number),
      remedy: expect.stringContaining('explain pod'),
    });
    expect(lines.length).toBeLessThanOrEqual(12);
  });

  it('reports missing subnets once, and then with a count', async () => {
    const [nodeClass] = started.example('ec2nodeclass.yaml');
    if (nodeClass === undefined) throw new Error('no EC2NodeClass');
    const gone = {
      ...nodeClass,
      spec: { ...(nodeClass as { spec?: object }).spec, subnetSelectorTerms: [{ tags: { of: 'nobody' } }] },
    };
    await started.apply(gone);
    const lines = await linesOfAnHour().finally(() => started.apply(nodeClass));
    expect(lines.some(({ error }) => String(error).includes('no subnets found'))).toBe(true);
    expect(Math.max(...timesOf(lines))).toBeLessThanOrEqual(5);
    expect(lines.some(({ repeated }) => Number(repeated) > 0)).toBe(true);
  });

  it('reports a denied call together with the required permission', async () => {
    const { faults } = started.world.aws;
    faults.add({ kind: 'error', action: 'DescribeInstances', code: 'UnauthorizedOperation' });
    const lines = (await linesOfAnHour().finally(() => faults.clear())).filter(({ level }) => level === 'ERROR');
    expect(lines.length).toBeGreaterThan(0);
    expect(Math.max(...timesOf(lines))).toBeLessThanOrEqual(5);
    const remedies = new Set(lines.map(({ remedy }) => remedy));
    expect(remedies).toEqual(new Set(["allow ec2:DescribeInstances in the policies of the operator's role"]));
  });
});
