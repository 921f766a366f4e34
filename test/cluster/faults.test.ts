/**
 * Faults of a real control plane, after which the operator continues without a restart and without a duplicate launch.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type Cluster, startCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { type Spread, startSpread } from './harness/spread.ts';
import { startWire, type Wire } from './harness/wire.ts';

describe('an operator whose control plane fails', () => {
  let cluster: Cluster;
  let wire: Wire;
  let operator: OperatorProcess;
  let spread: Spread;

  beforeAll(async () => {
    cluster = await startCluster();
    wire = await startWire(cluster);
    operator = await startOperatorProcess(cluster, { ...wire.env, DISABLE_LEADER_ELECTION: 'true' });
    spread = await startSpread(cluster);
    await spread.scale(2);
    await spread.settled(2);
  }, 180_000);
  afterEach(() => {
    expect(operator.process.exit).toBeUndefined();
  });
  afterAll(async () => {
    await operator?.stop();
    await wire?.close();
    await cluster?.stop();
  }, 60_000);

  it('continues after a crash of the API server while pods are pending', async () => {
    await spread.scale(4);
    await cluster.plane.crashApiServer(1_000);
    await spread.settled(4);
    expect(spread.bought()).toBe(4);
    const told = operator.lines().map(({ message }) => message);
    expect(told).toContain('the API server serves requests again');
  }, 150_000);

  it('continues after its connections are cut repeatedly during launches', async () => {
    await spread.scale(7);
    for (let round = 0; round < 6; round += 1) {
      wire.cut();
      await sleep(400);
      wire.mend();
      await sleep(600);
    }
    await spread.settled(7);
    expect(spread.bought()).toBe(7);
  }, 150_000);

  it('exits if etcd is paused for longer than its lease, and its successor launches no node twice', async () => {
    await operator.stop();
    operator = await startOperatorProcess(cluster, wire.env);
    const message = (text: string): boolean => operator.lines().some((line) => line.message === text);
    await until(cluster, 'a leader', () => message('successfully acquired lease'));
    const { etcd } = cluster.plane.processes;
    await spread.scale(9);
    etcd.signal('SIGSTOP');
    await sleep(20_000);
    etcd.signal('SIGCONT');
    await until(cluster, 'the end of the leader', () => operator.process.exit !== undefined);
    expect(operator.process.exit).toBe('exit code 1');
    expect(message('leader election lost')).toBe(true);

    // Starts the operator again, as the kubelet restarts its container.
    operator = await startOperatorProcess(cluster, wire.env);
    await spread.settled(9);
    expect(spread.bought()).toBe(9);
  }, 240_000);
});
