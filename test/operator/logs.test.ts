/** What the operator logs in an hour in which nothing happens, and in one in which something fails all the time. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { deployment, type LogLine, type Scenario, startScenario } from './harness.ts';
import { apart } from './pools.ts';

const MINUTE = 60_000;
const HOUR = 60 * MINUTE;
/** Nothing happens that would take real time. */
const IDLE = 600;

let scenario: Scenario | undefined;
afterEach(async () => {
  await scenario?.stop();
  scenario = undefined;
});

async function steady(): Promise<Scenario> {
  const started = await startScenario();
  scenario = started;
  await started.apply(...started.example('ec2nodeclass.yaml'), ...started.example('nodepool.yaml'));
  await started.apply(deployment('web', 3, apart('web')));
  await started.until('3 running pods', async () => (await started.running('web')).length === 3);
  await started.pass(10 * MINUTE);
  return started;
}

/** Lines of an hour. Each error line names its object, or is of a controller that has none, and says what to do. */
async function linesOfAnHour(started: Scenario): Promise<readonly LogLine[]> {
  const before = started.log.length;
  await started.pass(HOUR, IDLE);
  const lines = started.log.slice(before);
  for (const line of lines.filter(({ level }) => level === 'ERROR')) {
    expect(line).toEqual(expect.objectContaining({ controller: expect.any(String), remedy: expect.any(String) }));
    expect(line).toHaveProperty('error');
  }
  return lines;
}

/** How often each failure is written. */
const timesOf = (lines: readonly LogLine[]): readonly number[] =>
  [
    ...Map.groupBy(lines, ({ message, controller, name, error }) => JSON.stringify([message, controller, name, error])),
  ].map(([, same]) => same.length);

describe('the log', () => {
  it('has no line for an hour in which nothing happens', async () => {
    expect(await linesOfAnHour(await steady())).toEqual([]);
  });

  it('tells of subnets that are gone, once and then with a count', async () => {
    const started = await steady();
    const [nodeClass] = started.example('ec2nodeclass.yaml');
    if (nodeClass === undefined) throw new Error('no EC2NodeClass');
    const gone = {
      ...nodeClass,
      spec: { ...(nodeClass as { spec?: object }).spec, subnetSelectorTerms: [{ tags: { of: 'nobody' } }] },
    };
    await started.apply(gone);
    const lines = await linesOfAnHour(started);
    expect(lines.some(({ error }) => String(error).includes('no subnets found'))).toBe(true);
    expect(Math.max(...timesOf(lines))).toBeLessThanOrEqual(5);
    expect(lines.some(({ repeated }) => Number(repeated) > 0)).toBe(true);
  });

  it('tells of a denied call, with the permission that it needs', async () => {
    const started = await steady();
    started.world.aws.faults.add({ kind: 'error', action: 'DescribeInstances', code: 'UnauthorizedOperation' });
    const lines = (await linesOfAnHour(started)).filter(({ level }) => level === 'ERROR');
    expect(lines.length).toBeGreaterThan(0);
    expect(Math.max(...timesOf(lines))).toBeLessThanOrEqual(5);
    const remedies = new Set(lines.map(({ remedy }) => remedy));
    expect(remedies).toEqual(new Set(["allow ec2:DescribeInstances in the policies of the operator's role"]));
  });

  it('tells of pods that fit nowhere, each as long as it waits', async () => {
    const started = await steady();
    await started.apply(deployment('lost', 2, { nodeSelector: { 'topology.kubernetes.io/zone': 'nowhere' } }));
    const lines = await linesOfAnHour(started);
    const refused = lines.filter(({ message }) => message === 'could not schedule pod');
    expect(new Set(refused.map(({ Pod }) => (Pod as { name: string }).name)).size).toBe(2);
    expect(refused.length).toBeLessThanOrEqual(10);
    expect(refused.at(-1)).toMatchObject({
      repeated: expect.any(Number),
      remedy: expect.stringContaining('explain pod'),
    });
    expect(lines.length).toBeLessThanOrEqual(12);
  });
});
