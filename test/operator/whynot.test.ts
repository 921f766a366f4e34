/** User-visible reasons and results of disruption: events, the debug endpoints, and the commands that read them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import {
  apiVersionOf,
  DAEMON_SET,
  EC2_NODE_CLASS,
  type Kind,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  POD,
  POD_DISRUPTION_BUDGET,
} from '#api/objects';
import { explainCommand } from '#cli/testing';
import type { MoveView } from '#controllers/testing';
import type { Verdict } from '#engine/disruption';
import type { Operator } from '../../src/main.ts';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { apart, BRISK, budgetFor, leaks, outgrow, pool } from './pools.ts';

const MINUTE = 60_000;

let scenario: Scenario;
let operator: Operator;
afterEach(async () => {
  await scenario.stop();
});

const begin = async (): Promise<void> => {
  scenario = await startScenario({ ...BRISK, operator: false });
  operator = await scenario.startOperator();
  await scenario.apply(...scenario.example('ec2nodeclass.yaml'));
};

const served = async <T>(path: string): Promise<T> =>
  (await fetch(`http://127.0.0.1:${operator.metricsPort}${path}`)).json() as Promise<T>;

/** Returns the output of `karpenter explain`. */
async function explained(...args: readonly string[]): Promise<string> {
  const written = jest.spyOn(process.stdout, 'write').mockReturnValue(true);
  try {
    await explainCommand().parseAsync([...args], { from: 'user' });
    return written.mock.calls.map(([text]) => String(text)).join('');
  } finally {
    written.mockRestore();
  }
}

/** Returns the output of `kubectl get … -A -o json` for the kinds in the README. */
async function dump(): Promise<string> {
  const kinds: readonly Kind[] = [NODE, NODE_CLAIM, NODE_POOL, EC2_NODE_CLASS, POD, POD_DISRUPTION_BUDGET, DAEMON_SET];
  const items = await Promise.all(
    kinds.map(async (kind) =>
      (await scenario.kube.list(kind)).items.map((item) => ({
        ...item,
        apiVersion: apiVersionOf(kind),
        kind: kind.kind,
      })),
    ),
  );
  return JSON.stringify({ apiVersion: 'v1', kind: 'List', items: items.flat() });
}

describe('the reason why a node is not disrupted', () => {
  it('is reported on the Node once, and explained by the operator and for a dump of the cluster', async () => {
    await begin();
    await scenario.apply(pool({ cpus: [2] }), budgetFor('web', 0), deployment('web', 2, apart('web')));
    await scenario.until('running pods', async () => (await scenario.running('web')).length === 2);
    const names = (await scenario.nodes()).map(({ metadata }) => metadata.name).sort();
    const told = async (text: string): Promise<readonly string[]> =>
      (await scenario.events())
        .filter(({ message, involvedObject }) => message.includes(text) && involvedObject.kind === 'Node')
        .map(({ involvedObject, reason }) => `${reason} ${involvedObject.name}`)
        .sort();

    const ofBudget = 'prevents pod evictions';
    await scenario.until('an event on each node', async () => (await told(ofBudget)).length === names.length);
    const verdicts = await served<readonly Verdict[]>('/debug/verdicts');
    expect(verdicts.map(({ node }) => node)).toEqual(names);
    expect(verdicts.map(({ code, object }) => ({ code, object }))).toEqual(
      names.map(() => ({ code: 'pdb', object: { kind: 'PodDisruptionBudget', namespace: 'default', name: 'web' } })),
    );

    const [name = ''] = names;
    const server = `http://127.0.0.1:${operator.metricsPort}`;
    const live = await explained('node', name, '--server', server);
    expect(live).toMatch(new RegExp(`^Node ${name}\n  NodePool +default\n  verdict +pdb\n`));
    expect(live).toMatch(/blocked by +PodDisruptionBudget default\/web/);

    const folder = await mkdtemp(join(tmpdir(), 'whynot-'));
    try {
      const file = join(folder, 'now.json');
      await writeFile(file, await dump());
      const now = new Date(scenario.world.clock.now()).toISOString();
      const [fromDump, all] = [
        await explained('node', name, '-f', file, '--now', now),
        await explained('node', '-f', file, '--now', now),
      ];
      const facts = (text: string): string | undefined => text.split('\n\n')[0]?.replace(/\n +decided .*/, '');
      expect(live).toMatch(/\n {2}decided +\d+s ago, at \d{4}-.*Z\n\nMETHOD +CODE +AGE +BECAUSE\n/);
      expect(facts(fromDump)).toBe(facts(live));
      const priced = await explained('node', name, '-f', file, '--now', now, '--instance-types', server);
      expect(facts(priced)).toBe(facts(live));
      for (const each of names) expect(all).toMatch(new RegExp(`^${each} +default +pdb `, 'm'));
    } finally {
      await rm(folder, { recursive: true });
    }

    // Later passes have the same result. This result is not reported again.
    await scenario.pass(5 * MINUTE);
    expect(await told(ofBudget)).toEqual(names.map((each) => `DisruptionBlocked ${each}`));
    // A new reason is reported.
    const known = new Set((await scenario.events()).map(({ metadata }) => metadata.name));
    await scenario.kube.delete(POD_DISRUPTION_BUDGET, { name: 'web', namespace: 'default' });
    await scenario.until(
      'another event on each node',
      async () => {
        const reasons = [
          ...(await scenario.events('DisruptionVerdict')),
          ...(await scenario.events('Unconsolidatable')),
        ];
        const fresh = reasons.filter(({ metadata }) => !known.has(metadata.name));
        expect(fresh.filter(({ message }) => message.includes(ofBudget))).toEqual([]);
        return names.every((node) => fresh.some(({ involvedObject }) => involvedObject.name === node));
      },
      60_000,
    );
  }, 300_000);
});

describe('a standby operator', () => {
  it('has no verdicts, and refers to the leader', async () => {
    scenario = await startScenario({ timeScale: 4, leaderElection: true, operator: false });
    const ports = async (): Promise<string> => `http://127.0.0.1:${(await scenario.startOperator()).metricsPort}`;
    const leader = await ports();
    await scenario.until('a leader', async () => (await fetch(`${leader}/debug/verdicts`)).status === 200);
    const standby = await ports();
    for (const path of ['/debug/verdicts', '/debug/moves']) {
      const response = await fetch(`${standby}${path}`);
      expect(response.status).toBe(503);
      expect(await response.text()).toMatch(/^this replica is on standby; find the leader with kubectl get lease /);
    }
    await expect(explained('node', '--server', standby)).rejects.toThrow(
      'returned HTTP status 503: this replica is on standby',
    );
    expect(await explained('node', '--server', leader)).toBe('no nodes found\n');
  }, 300_000);
});

describe('the result of a consolidation', () => {
  it('is reported if its nodes are launched again, and when its savings are final', async () => {
    await begin();
    const shape = { cpus: [8] };
    await outgrow(scenario, shape, { nodes: 2, small: 3 }, () => scenario.apply(pool(shape)));
    const moves = (): Promise<readonly MoveView[]> => served('/debug/moves');
    const [begun] = await scenario.until(
      'a move',
      async () => {
        const found = await moves();
        return found.length > 0 && found;
      },
      60_000,
    );
    expect(begun).toMatchObject({
      decision: 'delete',
      nodePools: ['default'],
      workloads: ['default/Deployment/small'],
      state: 'watched',
    });
    await scenario.until('a tidy world', async () => (await leaks(scenario)).length === 0);

    // The workload grows beyond the node that is left.
    await scenario.scale('small', 25);
    await scenario.until('an event', async () => (await scenario.events('DisruptionUndone')).length > 0, 60_000);
    const [event] = await scenario.events('DisruptionUndone');
    expect(event?.involvedObject).toMatchObject({ kind: 'NodePool', name: 'default' });
    expect(event?.message).toMatch(/^Undone after .*: delete: \[.*\], NodeClaim default-.* was launched for its pods$/);
    expect((await moves())[0]).toMatchObject({ id: begun?.id, state: 'undone', undone: { because: 'bought-again' } });

    await scenario.pass(31 * MINUTE, 180);
    await scenario.until('savings', async () => (await scenario.events('DisruptionSavings')).length > 0);
    const over = (await moves()).find(({ id }) => id === begun?.id);
    expect(over?.predictedUsd).toBeCloseTo((begun?.predictedUsdPerHour ?? 0) / 2, 6);
    expect(over?.realisedUsd).toBeLessThan((over?.predictedUsd ?? 0) / 2);
    expect(await scenario.metrics()).toMatch(
      /karpenter_voluntary_disruption_moves_total\{decision="delete",reason="underutilized",outcome="undone"\} 1/,
    );
  }, 300_000);
});
