/** Reasons that block the disruption of nodes: those of the operator, those for a snapshot, and the later events. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import {
  apiVersionOf,
  DAEMON_SET,
  EC2_NODE_CLASS,
  EVENT,
  INSTANCE_TYPE_LABEL,
  isTrue,
  type Kind,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  POD_DISRUPTION_BUDGET,
} from '#api/objects';
import {
  type BudgetCalendar,
  blockersCommand,
  budgetsCommand,
  type SimulationAnswer,
  simulateCommand,
} from '#cli/testing';
import type { NodeBlockers } from '#engine/drain';
import type { Operator } from '../../src/main.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, pool } from './pools.ts';

let scenario: Scenario;
let operator: Operator;
let folder: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'waits-'));
  scenario = await startScenario({ ...BRISK, operator: false });
  operator = await scenario.startOperator();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
});
afterEach(async () => {
  await scenario.stop();
  await rm(folder, { recursive: true });
});

const server = (): string => `http://127.0.0.1:${operator.metricsPort}`;

/** Returns the JSON output of a command. */
async function printed<T>(command: Command, ...args: readonly string[]): Promise<T> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  const noted = jest.spyOn(process.stderr, 'write').mockReturnValue(true);
  try {
    await command.parseAsync([...args, '-o', 'json'], { from: 'user' });
    return JSON.parse(written.mock.calls.map(([text]) => String(text)).join('')) as T;
  } finally {
    written.mockRestore();
    noted.mockRestore();
  }
}

/** Returns command line arguments for a dump of the cluster's present state. */
async function dump(): Promise<readonly string[]> {
  const kinds: readonly Kind[] = [
    NODE,
    NODE_CLAIM,
    NODE_POOL,
    EC2_NODE_CLASS,
    POD,
    POD_DISRUPTION_BUDGET,
    DAEMON_SET,
    EVENT,
  ];
  const items = await Promise.all(
    kinds.map(async (kind) =>
      (await scenario.kube.list(kind)).items.map((item) => ({
        ...item,
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
      })),
    ),
  );
  const file = join(folder, 'now.json');
  await writeFile(file, JSON.stringify({ apiVersion: 'v1', kind: 'List', items: items.flat() }));
  return ['-f', file, '--now', new Date(scenario.world.clock.now()).toISOString()];
}

/**
 * Returns blockers without values that grow with time, and without nominations, which exist only in the operator's
 * memory.
 */
const facts = (nodes: readonly NodeBlockers[]): readonly unknown[] =>
  nodes
    .map(({ usdSoFar: _, worth: __, blockers, ...node }) => ({
      ...node,
      blockers: blockers.filter(({ code }) => code !== 'nominated'),
    }))
    .filter(({ blockers }) => blockers.length > 0)
    .toSorted((a, b) => (a.node < b.node ? -1 : 1));

describe('a blocker of nodes', () => {
  it('is the same in the operator and for a dump, ends with its cause, and agrees with a simulated drain', async () => {
    const closed = [{ nodes: '0', schedule: '0 0 1 1 *', duration: '8784h' }];
    await scenario.apply(
      pool({ cpus: [2], budgets: [{ nodes: '50%' }, ...closed] }),
      budgetFor('web', 0),
      deployment('web', 2, apart('web')),
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    const [first] = await scenario.claims();
    const name = first?.status?.nodeName ?? '';
    await scenario.until('an initialized node', async () =>
      (await scenario.claims()).every((claim) => isTrue(claim, 'Initialized')),
    );

    // launches of a drain without the pods' disruption budget
    const { nodeClaims: foretold } = await printed<SimulationAnswer>(
      simulateCommand(),
      ...(await dump()),
      '--instance-types',
      server(),
      '--what-if',
      `drain ${name}`,
      '--what-if',
      await write(budgetFor('web', 1)),
    );
    expect(foretold).toHaveLength(1);

    await scenario.kube.delete(NODE_CLAIM, { name: first?.metadata.name ?? '' });
    const blocked = await scenario.until('a blocked drain', async () => {
      const found = await printed<readonly NodeBlockers[]>(blockersCommand(), '--server', server());
      const draining = found.find(({ waitsFor }) => waitsFor === 'drain');
      return draining?.blockers[0]?.code === 'pdb' && found;
    });
    const draining = blocked.find(({ waitsFor }) => waitsFor === 'drain');
    expect(draining).toMatchObject({
      node: name,
      nodePool: 'default',
      usdPerHour: expect.any(Number),
      since: expect.stringMatching(/^\d{4}-/),
      blockers: [
        { object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' }, healthy: { allowed: 0 } },
      ],
    });
    const speed = scenario.speed(0);
    const live = await printed<readonly NodeBlockers[]>(blockersCommand(), '--server', server());
    const dumped = await printed<readonly NodeBlockers[]>(
      blockersCommand(),
      ...(await dump()),
      '--instance-types',
      server(),
    );
    expect(facts(dumped.filter(({ waitsFor }) => waitsFor !== 'nothing'))).toEqual(
      facts(live.filter(({ waitsFor }) => waitsFor !== 'nothing')),
    );
    scenario.speed(speed);

    const now = new Date(scenario.world.clock.now()).toISOString();
    const calendar = await printed<BudgetCalendar>(budgetsCommand(), '--server', server(), '--now', now);
    const [web] = calendar.nodePools;
    expect(web).toMatchObject({ nodePool: 'default', nodes: 2, disrupting: 1 });
    const overDump = await printed<BudgetCalendar>(budgetsCommand(), ...(await dump()), '--next', '7d');
    expect(overDump.nodePools).toEqual(calendar.nodePools.map((each) => ({ ...each, reasons: expect.any(Array) })));
    expect(overDump.nodePools[0]?.reasons.map(({ spans }) => spans[0]?.allowed)).toEqual(
      web?.reasons.map(({ spans }) => spans[0]?.allowed),
    );

    await scenario.kube.delete(POD_DISRUPTION_BUDGET, { name: 'web', namespace: 'default' });
    await scenario.until(
      'the node to go',
      async () => !(await scenario.nodes()).some(({ metadata }) => metadata.name === name),
      60_000,
    );
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2, 60_000);
    const types = (await scenario.nodes()).map(({ metadata }) => metadata.labels?.[INSTANCE_TYPE_LABEL]);
    expect(types).toContain(foretold[0]?.cheapest);
    // the NodeClaim is deleted after its node
    await scenario.until('the end of the drain', async () => {
      const left = await printed<readonly NodeBlockers[]>(blockersCommand(), '--server', server());
      return !left.some(({ waitsFor }) => waitsFor === 'drain');
    });
  }, 300_000);
});

async function write(object: unknown): Promise<string> {
  const file = join(folder, 'change.json');
  await writeFile(file, JSON.stringify(object));
  return file;
}
