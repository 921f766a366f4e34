/**
 * An operator without leader election whose view of the cluster is interrupted or outdated. It must not act on wrong
 * state.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { NODE_CLAIM } from '#api/objects';
import { configureAws } from '#aws/provider';
import { steadyClock } from '#lib/clock';
import { type Operator, startOperator } from '../../src/main.ts';
import { ApiError, connect } from '../support/kube-api.ts';
import { type Cluster, startCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { type Spread, startSpread } from './harness/spread.ts';
import { startWire, type Wire } from './harness/wire.ts';

const MINUTE = 60_000;
const ALONE = { DISABLE_LEADER_ELECTION: 'true' };

let cluster: Cluster;
let spread: Spread;
beforeAll(async () => {
  // Without the watch cache and with short history, watches from old versions are rejected as etcd rejects them.
  cluster = await startCluster({ plane: { apiServerFlags: ['--watch-cache=false', '--etcd-compaction-interval=4s'] } });
}, 180_000);
afterAll(async () => {
  await cluster?.stop();
}, 60_000);

describe('an operator without leader election', () => {
  let wire: Wire;
  let operator: OperatorProcess;

  beforeAll(async () => {
    wire = await startWire(cluster);
    const env = { ...wire.env, ...ALONE, LOG_LEVEL: 'debug', SCHEDULED_EVENTS: 'interruption' };
    operator = await startOperatorProcess(cluster, env);
    spread = await startSpread(cluster);
    await spread.scale(2);
    await spread.settled(2);
  }, 180_000);
  afterEach(() => {
    expect(operator.process.exit).toBeUndefined();
  });
  afterAll(async () => {
    // The operators of the other tests start without nodes.
    await spread?.clear();
    await operator?.stop();
    await wire?.close();
  }, 180_000);

  const logged = (pattern: RegExp): boolean => operator.lines().some((line) => pattern.test(JSON.stringify(line)));

  it('lists again after its watches have expired, and then acts on the changes', async () => {
    const { items, metadata } = await cluster.kube.list(NODE_CLAIM);
    const [gone] = items;
    wire.cut();
    await spread.scale(4);
    await cluster.kube.delete(NODE_CLAIM, gone?.metadata ?? { name: '' });
    await until(cluster, 'the history to be forgotten', () => isForgotten(metadata.resourceVersion ?? ''));
    wire.mend();

    // Two for the new pods, and one for the pod of the claim that a user deleted meanwhile.
    await spread.settled(4);
    await until(cluster, 'the deleted claim to go', async () =>
      (await cluster.kube.list(NODE_CLAIM)).items.every((claim) => claim.metadata.uid !== gone?.metadata.uid),
    );
    await spread.settled(4);
    expect(spread.bought()).toBe(5);
    expect(logged(/"ERROR".*the API server serves no requests, retrying/)).toBe(true);
    expect(logged(/"INFO".*the API server serves requests again/)).toBe(true);
    expect(logged(/watch ended, reconnecting.*(too old|compacted|expired)/i)).toBe(true);
  }, 180_000);

  /** Reports whether a watch from this version is rejected. */
  async function isForgotten(version: string): Promise<boolean> {
    const stop = new AbortController();
    const limit = setTimeout(() => stop.abort(), 1_000);
    try {
      for await (const _ of cluster.kube.watch(NODE_CLAIM, version, stop.signal)) return false;
    } catch (error) {
      return error instanceof ApiError && error.status === 410;
    } finally {
      clearTimeout(limit);
      stop.abort();
    }
    return false;
  }

  it('continues after etcd was paused for 20 s, and handles the interruption that AWS announced meanwhile', async () => {
    const { etcd } = cluster.plane.processes;
    const { instances, faults } = cluster.world.aws;
    const [doomed] = instances.list().filter(({ state }) => state === 'running');
    await spread.scale(6);
    etcd.signal('SIGSTOP');
    faults.scheduleChange(doomed?.id ?? '');
    await sleep(20_000);
    etcd.signal('SIGCONT');
    await until(cluster, 'the instance with the event to go', () => doomed?.state === 'terminated');
    await spread.settled(6);
    expect(spread.bought()).toBe(8);
    expect(logged(/"INFO".*the API server responds slowly/)).toBe(true);
  }, 180_000);

  it('reads renewed tokens before requests fail, and recovers from one that was renewed too late', async () => {
    // A single rejection makes the client read the file again immediately. This is not an error.
    const wasRefused = (): boolean => logged(/"ERROR".*Unauthorized/);
    let last = '';
    // Longer than the lifetime of the first token.
    for (let round = 0; round < 4; round += 1) {
      last = await cluster.shortenToken(30);
      await sleep(10_000);
    }
    await spread.scale(7);
    await spread.settled(7);
    expect(wasRefused()).toBe(false);

    await until(cluster, 'the end of the last token', () => isRefused(last), 90_000);
    await spread.scale(8);
    await until(cluster, 'a refusal', wasRefused);
    await cluster.renewToken();
    await spread.settled(8);
    expect(spread.bought()).toBe(10);
  }, 240_000);

  async function isRefused(token: string): Promise<boolean> {
    const { url, credentials } = cluster.plane;
    const client = connect(url, { ...credentials, token });
    try {
      await client.list(NODE_CLAIM);
      return false;
    } catch (error) {
      return error instanceof ApiError && error.status === 401;
    } finally {
      client.close();
    }
  }
});

describe('an operator whose clock is wrong', () => {
  let operator: Operator;
  const errors: string[] = [];

  afterEach(async () => {
    await operator?.stop();
  });

  it.each([
    ['a minute fast', MINUTE],
    ['a minute slow', -MINUTE],
  ])(
    'works normally although the clock is %s',
    async (_, skewMs) => {
      Object.assign(process.env, cluster.world.aws.env());
      operator = await startOperator({
        configureProvider: configureAws,
        argv: [],
        env: { ...(await cluster.operatorEnv()), ...ALONE },
        clock: steadyClock(1, Date.now() + skewMs),
        write: (line) => {
          if (line.includes('"ERROR"')) errors.push(line);
        },
      });
      spread = await startSpread(cluster);
      await spread.scale(3);
      await spread.settled(3);
      await spread.clear();
      expect(spread.bought()).toBe(3);
      expect(errors).toEqual([]);
    },
    180_000,
  );
});
