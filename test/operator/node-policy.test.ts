/** NodePolicies, and an operator that observes, over HTTP. */
import { createServer, request, type Server } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, describe, expect, it, jest } from '@jest/globals';
import type { Command } from 'commander';
import {
  CONFIG_MAP,
  getCondition,
  isTrue,
  type Kind,
  LEASE,
  NODE_POLICY,
  NODE_POOL,
  type NodePolicy,
  PAUSE_NAME,
  pauseData,
} from '#api/objects';
import { customResourceDefinition } from '#api/schema';
import type { CustomResourceDefinition } from '#api/testing';
import { explainCommand, logCommand } from '#cli/testing';
import { deployment, type Scenario, startScenario } from './harness.ts';
import { BRISK, pool } from './pools.ts';

const CRD: Kind<CustomResourceDefinition> = {
  group: 'apiextensions.k8s.io',
  version: 'v1',
  kind: 'CustomResourceDefinition',
  plural: 'customresourcedefinitions',
  namespaced: false,
};
const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'] as const;
const DEFINITION = { name: `${NODE_POLICY.plural}.${NODE_POLICY.group}` };

let scenario: Scenario;
afterEach(() => scenario.stop());

const errors = (): readonly string[] =>
  scenario.log.filter(({ level }) => level === 'ERROR').map((line) => JSON.stringify(line));

describe('a NodePolicy', () => {
  it('is optional: without its kind the operator works without an error, and reads the kind when it appears', async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    await scenario.kube.delete(CRD, DEFINITION);
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    await scenario.startOperator();
    await scenario.until('a ready NodePool', async () => {
      const found = await scenario.kube.find(NODE_POOL, { name: 'default' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    expect(errors()).toEqual([]);

    const definition = customResourceDefinition(NODE_POLICY.kind);
    if (definition === undefined) throw new Error('there is no definition of NodePolicy');
    await scenario.kube.create(CRD, definition);
    await scenario.apply(
      ...['first', 'second'].map((name) => ({
        apiVersion: 'karpenter-ts.sh/v1alpha1',
        kind: 'NodePolicy',
        metadata: { name },
        spec: { windows: { timeZone: 'Europe/Nowhere', allowed: [{ start: '20:00' }] } },
      })),
    );
    await scenario.until('the conditions', async () => {
      const { items } = await scenario.kube.list(NODE_POLICY);
      const overruled = items.filter((policy) => isTrue(policy, 'Overruled'));
      return overruled.length === 1 && items.every((policy) => getCondition(policy, 'Ready')?.status === 'False');
    });
    expect(errors()).toEqual([]);
  }, 120_000);
});

describe('a window of a NodePolicy', () => {
  it('keeps an empty node while it is closed, names its next opening, and releases the node when it opens', async () => {
    scenario = await startScenario({ ...BRISK, operator: false });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    const { metricsPort } = await scenario.startOperator();
    const server = ['--server', `http://127.0.0.1:${metricsPort}`];
    await scenario.apply(deployment('web', 1));
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    const [claim] = await scenario.claims();
    const created = Date.parse(claim?.metadata.creationTimestamp ?? '');
    const day = WEEKDAYS[(new Date(created).getUTCDay() + 3) % 7] ?? 'Sun';
    const windows = { timeZone: 'Europe/Berlin', allowed: [{ days: [day], start: '02:00', end: '05:00' }] };
    await scenario.apply({
      apiVersion: 'karpenter-ts.sh/v1alpha1',
      kind: 'NodePolicy',
      metadata: { name: 'night' },
      spec: { windows },
    } as NodePolicy);
    await scenario.until('the conditions', async () => {
      const found = await scenario.kube.find(NODE_POLICY, { name: 'night' });
      return found !== undefined && isTrue(found, 'Ready');
    });
    await scenario.scale('web', 0);
    const text = await scenario.until('the verdict', async () => {
      const found = await printed(explainCommand(), 'node', ...server, '-o', 'json');
      return /NodePolicy night until \d{4}-/.test(found) && found;
    });
    expect(text).toContain('by the windows of NodePolicy night until');
    expect(await printed(explainCommand(), 'budgets', ...server)).toMatch(
      /no disruption allowed now for all reasons; allowed again at/,
    );
    await scenario.pass(10_000);
    expect(await scenario.claims()).toHaveLength(1);
    await scenario.kube.patch(NODE_POLICY, { name: 'night' }, { spec: { windows: { allowed: [{}] } } });
    await scenario.until('no nodes', async () => (await scenario.claims()).length === 0);
  }, 200_000);
});

describe('a NodePolicy with the mode Observe', () => {
  it('reports a launch and a deletion, which are carried out when its mode changes', async () => {
    scenario = await startScenario(BRISK);
    const mode = (value: 'Act' | 'Observe'): Promise<unknown> =>
      scenario.kube.patch(NODE_POLICY, { name: 'watched' }, { spec: { mode: value } });
    const reported = (text: string): Promise<true> =>
      scenario.until(`the event ${text}`, async () =>
        (await scenario.events('WouldAct')).some(({ message = '' }) => message.includes(text)),
      );
    await scenario.apply(
      {
        ...{ apiVersion: 'karpenter-ts.sh/v1alpha1', kind: 'NodePolicy', metadata: { name: 'watched' } },
        spec: { mode: 'Observe' },
      } as never,
      ...scenario.example('ec2nodeclass.yaml'),
      pool({ cpus: [2] }),
      deployment('web', 1),
    );
    await reported('would launch');
    expect(await scenario.claims()).toEqual([]);
    await mode('Act');
    await scenario.until('a running pod', async () => (await scenario.running('web')).length === 1);
    await mode('Observe');
    await scenario.until('the condition', async () => {
      const found = await scenario.kube.find(NODE_POLICY, { name: 'watched' });
      return found !== undefined && isTrue(found, 'Observing');
    });
    await scenario.scale('web', 0);
    await reported('would delete node');
    const [claim] = await scenario.claims();
    const { taints = [] } = (await scenario.nodes())[0]?.spec ?? {};
    expect(claim?.metadata.deletionTimestamp).toBeUndefined();
    expect(taints).toEqual([]);
    await mode('Act');
    await scenario.until('no nodes', async () => (await scenario.claims()).length === 0);
  }, 200_000);
});

/** Forwards requests to the API server, and records those that are not reads. */
async function recordingWire(
  target: string,
): Promise<{ readonly url: string; readonly writes: string[]; readonly server: Server }> {
  const writes: string[] = [];
  const server = createServer((incoming, outgoing) => {
    const { method = 'GET', url = '/', headers } = incoming;
    if (method !== 'GET') writes.push(`${method} ${url}`);
    const forwarded = request(new URL(url, target), { method, headers }, (response) => {
      outgoing.writeHead(response.statusCode ?? 500, response.headers);
      outgoing.flushHeaders();
      response.pipe(outgoing);
    });
    forwarded.on('error', () => outgoing.destroy());
    outgoing.on('close', () => forwarded.destroy());
    incoming.pipe(forwarded);
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const { port } = server.address() as AddressInfo;
  return { url: `http://127.0.0.1:${port}`, writes, server };
}

async function printed(command: Command, ...args: readonly string[]): Promise<string> {
  const parts: string[] = [];
  const spies = [process.stdout, process.stderr].map((stream) =>
    jest.spyOn(stream, 'write').mockImplementation((text) => {
      parts.push(String(text));
      return true;
    }),
  );
  try {
    await command.parseAsync([...args], { from: 'user' });
    return parts.join('');
  } finally {
    for (const spy of spies) spy.mockRestore();
  }
}

/** AWS calls that change something, or that take a message from a queue. */
const MUTATING = /^(Add|Attach|Create|Delete|Modify|Receive|Remove|Run|Send|Set|Tag|Terminate|Untag)/;

describe('an operator with MODE=observe', () => {
  it('reports launches, deletions and replacements beside the leader, and writes nothing to Kubernetes and AWS', async () => {
    scenario = await startScenario({ ...BRISK, operator: false, leaderElection: true });
    await scenario.apply(...scenario.example('ec2nodeclass.yaml'), pool({ cpus: [2] }));
    // only the observer could read the queue
    await scenario.startOperator({ env: { INTERRUPTION_QUEUE: '' } });
    await scenario.apply(deployment('busy', 1, {}, { cpu: '1500m' }), deployment('gone', 1, {}, { cpu: '1500m' }));
    await scenario.until('two initialized nodes', async () => {
      const claims = await scenario.claims();
      return claims.length === 2 && claims.every((claim) => isTrue(claim, 'Initialized'));
    });
    const data = pauseData({ scope: 'all', reason: 'a comparison', untilMs: Date.parse('2099-01-01T00:00:00Z') });
    await scenario.kube.create(CONFIG_MAP, {
      ...{ apiVersion: 'v1', kind: 'ConfigMap', metadata: { name: PAUSE_NAME, namespace: 'kube-system' } },
      data,
    });
    await scenario.until('the pause', async () => (await scenario.events('OperatorPaused')).length > 0);
    const wire = await recordingWire(scenario.world.kube.url);
    try {
      const [lease] = (await scenario.kube.list(LEASE)).items.filter(({ metadata }) => /karpenter/.test(metadata.name));
      const calls = scenario.world.aws.calls.recorded().length;
      const before = (await scenario.claims()).map(({ metadata }) => metadata.name).sort();
      const kubeconfig = scenario.world.kube.kubeconfig().replaceAll(scenario.world.kube.url, wire.url);
      const observer = await scenario.startOperator({ env: { MODE: 'observe', KUBECONFIG: kubeconfig } });
      const server = ['--server', `http://127.0.0.1:${observer.metricsPort}`];
      const log = () => printed(logCommand('0.0.0'), ...server, '--since', '366d', '--now', '2027-06-01T00:00:00Z');
      const reported = (what: RegExp): Promise<string> =>
        scenario.until(`the decision ${what}`, async () => {
          const lines = await log().catch(() => '');
          return what.test(lines) && lines;
        });
      const labels = { 'example.com/generation': '2' };
      await scenario.kube.patch(NODE_POOL, { name: 'default' }, { spec: { template: { metadata: { labels } } } });
      await reported(/would replace node/);
      await scenario.scale('gone', 0);
      await reported(/would delete node/);
      await scenario.apply(deployment('late', 3, {}, { cpu: '1500m' }));
      const text = await reported(/would launch/);
      expect(text).toMatch(/would launch \S+ for \d pods? at \$\d\.\d{4} an hour/);
      expect(text).toMatch(/would delete node \S+, saves \$\d\.\d{4} an hour/);
      const explained = await printed(explainCommand(), 'node', ...server);
      expect(explained).toContain('the operator observes (MODE=observe)');
      await scenario.until('the verdict on a node', async () =>
        /would (delete|replace) node/.test(await printed(explainCommand(), 'node', ...server, '-o', 'json')),
      );
      expect(await printed(explainCommand(), 'pod', ...server)).toContain('would launch');

      expect(wire.writes).toEqual([]);
      const later = scenario.world.aws.calls.recorded().slice(calls);
      expect(later.filter(({ action }) => MUTATING.test(action))).toEqual([]);
      expect((await scenario.claims()).map(({ metadata }) => metadata.name).sort()).toEqual(before);
      const held = (await scenario.kube.list(LEASE)).items.filter(({ metadata }) => /karpenter/.test(metadata.name));
      expect(held.map(({ spec }) => spec?.holderIdentity)).toEqual([lease?.spec?.holderIdentity]);
      await observer.stop();
    } finally {
      wire.server.close();
      wire.server.closeAllConnections();
    }
  }, 300_000);
});
