/** Replacement of nodes that drifted from their NodePool or node class, or that expired. */
import { afterEach, describe, expect, it } from '@jest/globals';
import { type Budget, getCondition, isTrue, NODE_POOL } from '#api/objects';
import { deployment, type Scenario, type ScenarioOptions, startScenario } from './harness.ts';
import { apart, BRISK, commands, leaks, type PoolShape, pool, taintedNodes } from './pools.ts';

/** Time scale for waits of half an hour and more. */
const HURRY = 180;

let scenario: Scenario;
afterEach(async () => {
  await scenario.stop();
});

const begin = async (shape: PoolShape, options: ScenarioOptions = {}): Promise<void> => {
  scenario = await startScenario({ ...BRISK, ...options });
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool(shape));
};

/** Starts the given number of nodes with one pod each. */
const spreadOut = async (nodes: number): Promise<void> => {
  await scenario.apply(deployment('web', nodes, apart('web')));
  await scenario.until('running pods', async () => (await scenario.running('web')).length === nodes);
  expect(await scenario.nodes()).toHaveLength(nodes);
};

/**
 * Returns the number of nodes that count against a budget. Nodes whose instance is already terminating do not count.
 */
const leaving = async (): Promise<number> => {
  const tainted = await taintedNodes(scenario);
  const claims = await scenario.claims();
  return tainted.filter((name) =>
    claims.some((claim) => claim.status?.nodeName === name && !isTrue(claim, 'InstanceTerminating')),
  ).length;
};

const instanceIds = (): readonly string[] => scenario.instances().map(({ id }) => id);
const settled = (pods: number): Promise<true> =>
  scenario.until(
    'a tidy world with all pods',
    async () => (await leaks(scenario)).length === 0 && (await scenario.running('web')).length === pods,
    60_000,
  );

describe('an edit of a NodePool', () => {
  it('replaces its nodes one after the other if its budget allows one at a time', async () => {
    await begin({ cpus: [2], budgets: [{ nodes: '1' }] });
    await spreadOut(3);
    const old = new Set(instanceIds());

    await scenario.apply(pool({ cpus: [2], budgets: [{ nodes: '1' }], labels: { tier: 'gold' } }));
    let [mostLeaving, mostInstances, leastPods] = [0, 0, 3];
    await scenario.until(
      'new nodes only',
      async () => {
        mostLeaving = Math.max(mostLeaving, await leaving());
        mostInstances = Math.max(mostInstances, scenario.instances().length);
        leastPods = Math.min(leastPods, (await scenario.running('web')).length);
        const present = instanceIds();
        return present.length === 3 && present.every((id) => !old.has(id));
      },
      90_000,
    );
    expect(mostLeaving).toBeLessThanOrEqual(1);
    expect(mostInstances).toBeLessThanOrEqual(4);
    expect(leastPods).toBeGreaterThanOrEqual(2);
    await settled(3);
    for (const node of await scenario.nodes()) expect(node.metadata.labels?.tier).toBe('gold');
    expect(commands(scenario)).toHaveLength(3);
    for (const command of commands(scenario)) expect(command.command).toMatch(/^Drifted\/.*replace/);
    expect(await scenario.metrics()).toMatch(/karpenter_nodeclaims_disrupted_total\{reason="drifted".*\} 3/);
  }, 300_000);

  it('causes no drift if it only changes disruption, limits or weight', async () => {
    await begin({ cpus: [2] });
    await spreadOut(1);
    await scenario.kube.patch(
      NODE_POOL,
      { name: 'default' },
      { spec: { weight: 7, limits: { cpu: '100' }, disruption: { consolidateAfter: '1h' } } },
    );
    await scenario.pass(3 * 60_000);
    expect(commands(scenario)).toEqual([]);
    expect((await scenario.claims()).map((claim) => getCondition(claim, 'Drifted'))).toEqual([undefined]);
  }, 300_000);

  it('drifts the nodes that no longer meet its requirements', async () => {
    await begin({ cpus: [2] });
    await spreadOut(1);
    await scenario.apply(pool({ cpus: [4] }));
    await scenario.until('a reason', async () =>
      (await scenario.claims()).some((claim) => getCondition(claim, 'Drifted')?.reason === 'RequirementsDrifted'),
    );
    await scenario.until(
      'a larger node only',
      async () => {
        const cpus = (await scenario.nodes()).map(
          ({ metadata }) => metadata.labels?.['karpenter.k8s.aws/instance-cpu'],
        );
        return cpus.length === 1 && cpus[0] === '4';
      },
      60_000,
    );
    await settled(1);
  }, 300_000);
});

describe('a newer image behind the alias', () => {
  it('drifts the nodes with the older image', async () => {
    await begin({ cpus: [2] });
    await spreadOut(1);
    const [before] = scenario.instances();
    const { seed, calls } = scenario.world.aws;
    const image = seed.image({ name: 'amazon-eks-node-al2023-x86_64-standard-newer', ownerAlias: 'amazon' });
    for (const { input } of calls.recorded('GetParameter')) {
      const name = String(input.Name);
      if (name.includes('/x86_64/standard/')) seed.parameter(name, image);
    }
    // The value is cached for a day; a new process reads it again.
    await scenario.restartOperator();
    await scenario.until(
      'a reason',
      async () => (await scenario.claims()).some((claim) => getCondition(claim, 'Drifted')?.reason === 'AMIDrift'),
      60_000,
    );
    await scenario.until(
      'only the new image',
      () => scenario.instances().every(({ imageId }) => imageId === image),
      60_000,
    );
    expect(instanceIds()).not.toContain(before?.id);
    await settled(1);
  }, 300_000);
});

describe('an image that becomes deprecated', () => {
  it('drifts its nodes once the alias resolves to another image', async () => {
    await begin({ cpus: [2] });
    await spreadOut(1);
    const [before] = scenario.instances();
    const { seed, calls } = scenario.world.aws;
    const image = seed.image({ name: 'amazon-eks-node-al2023-x86_64-standard-newer', ownerAlias: 'amazon' });
    for (const { input } of calls.recorded('GetParameter')) {
      const name = String(input.Name);
      if (name.includes('/x86_64/standard/')) seed.parameter(name, image);
    }
    // The value of the alias is cached for a day, or for half an hour if the image is deprecated.
    await scenario.pass(3 * 60_000);
    expect(instanceIds()).toEqual([before?.id]);

    seed.image({
      id: before?.imageId ?? '',
      name: 'amazon-eks-node-al2023-x86_64-standard-older',
      ownerAlias: 'amazon',
      deprecationTime: new Date(scenario.world.clock.now()).toISOString(),
    });
    await scenario.pass(31 * 60_000, HURRY);
    await scenario.until(
      'only the new image',
      () => scenario.instances().length === 1 && scenario.instances().every(({ imageId }) => imageId === image),
      60_000,
    );
    expect(await scenario.metrics()).toMatch(/karpenter_nodeclaims_disrupted_total\{reason="drifted".*\} 1/);
    await settled(1);
  }, 300_000);
});

describe('expiry', () => {
  it('replaces nodes that reach their maximum age, regardless of budgets', async () => {
    await begin({ cpus: [2], expireAfter: '5m', budgets: [{ nodes: '0' }] });
    await spreadOut(2);
    const old = new Set(instanceIds());
    // Age of NodeClaims at their deletion, in milliseconds, as far as this loop observed it in time.
    const ages = new Map<string, number>();
    await scenario.until(
      'new nodes',
      async () => {
        for (const { metadata } of await scenario.claims()) {
          const { deletionTimestamp, creationTimestamp = '' } = metadata;
          if (deletionTimestamp) ages.set(metadata.name, Date.parse(deletionTimestamp) - Date.parse(creationTimestamp));
        }
        const present = instanceIds();
        return present.length === 2 && present.every((id) => !old.has(id));
      },
      60_000,
    );
    await settled(2);
    for (const age of ages.values()) expect(age).toBeGreaterThanOrEqual(5 * 60_000);
    expect(commands(scenario)).toEqual([]);
    expect(await scenario.metrics()).toMatch(/karpenter_nodeclaims_disrupted_total\{reason="expired".*\} ([2-9]|\d\d)/);
  }, 300_000);
});

describe('a budget', () => {
  it('keeps every node if it is 0, and an event of the NodePool reports that', async () => {
    await begin({ cpus: [2], budgets: [{ nodes: '0' }] });
    await spreadOut(2);
    await scenario.apply(pool({ cpus: [2], budgets: [{ nodes: '0' }], labels: { tier: 'gold' } }));
    // Other reasons are blocked as well and may be reported first.
    await scenario.until(
      'an event on the NodePool about drift',
      async () =>
        (await scenario.events('DisruptionBlocked')).some(
          ({ involvedObject, message }) =>
            involvedObject.kind === 'NodePool' &&
            message === 'No allowed disruptions for disruption reason Drifted due to blocking budget',
        ),
      60_000,
    );
    await scenario.pass(2 * 60_000);
    expect(commands(scenario)).toEqual([]);
    expect(await taintedNodes(scenario)).toEqual([]);
    // The nodes are replaced as soon as the budget allows it.
    await scenario.apply(pool({ cpus: [2], labels: { tier: 'gold' } }));
    await scenario.until(
      'new nodes',
      async () => {
        const nodes = await scenario.nodes();
        return nodes.length === 2 && nodes.every(({ metadata }) => metadata.labels?.tier === 'gold');
      },
      60_000,
    );
    await settled(2);
  }, 300_000);

  it('is closed only for its duration and its reasons if it has a schedule', async () => {
    await begin({ cpus: [2] });
    await spreadOut(2);
    // A window that began three minutes ago and lasts eight.
    const begun = new Date(scenario.world.clock.now() - 3 * 60_000);
    const schedule = `${begun.getUTCMinutes()} ${begun.getUTCHours()} * * *`;
    const window: Budget = { nodes: '0', schedule, duration: '8m', reasons: ['Drifted', 'Underutilized'] };
    const ends = Math.floor(begun.getTime() / 60_000) * 60_000 + 8 * 60_000;
    await scenario.apply(pool({ cpus: [2], budgets: [{ nodes: '100%' }, window], labels: { tier: 'gold' } }));
    await scenario.until('drift', async () =>
      (await scenario.claims()).every((claim) => getCondition(claim, 'Drifted')?.status === 'True'),
    );
    const allowed = async (reason: string): Promise<string | undefined> =>
      (await scenario.metrics()).match(
        new RegExp(`karpenter_nodepools_allowed_disruptions\\{nodepool="default",reason="${reason}"\\} (\\d+)`),
      )?.[1];
    await scenario.until('a closed window', async () => (await allowed('Drifted')) === '0');
    await scenario.scale('web', 1);
    await scenario.until('two commands', () => commands(scenario).length === 2, 60_000);
    const [first, second] = commands(scenario);
    // the budget does not apply to empty nodes
    expect(first?.command).toMatch(/^Empty\//);
    expect(Date.parse(String(first?.time))).toBeLessThan(ends);
    expect(second?.command).toMatch(/^Drifted\//);
    expect(Date.parse(String(second?.time))).toBeGreaterThanOrEqual(ends);
    expect(await allowed('Drifted')).toBe('1');
    await settled(1);
  }, 300_000);

  it('does not block other reasons if it has a reason', async () => {
    await begin({ cpus: [2], budgets: [{ nodes: '0', reasons: ['Drifted'] }] });
    await spreadOut(1);
    await scenario.apply(
      pool({ cpus: [2], budgets: [{ nodes: '0', reasons: ['Drifted'] }], labels: { tier: 'gold' } }),
    );
    await scenario.until('drift', async () =>
      (await scenario.claims()).some((claim) => getCondition(claim, 'Drifted')?.status === 'True'),
    );
    await scenario.pass(60_000);
    expect(commands(scenario)).toEqual([]);
    await scenario.scale('web', 0);
    await scenario.until('no instance', () => scenario.instances().length === 0);
    expect(commands(scenario)).toHaveLength(1);
    expect(commands(scenario)[0]?.command).toMatch(/^Empty\/.*delete/);
  }, 300_000);
});
