/**
 * Checks the engine against kube-scheduler: in any mix of pods, each pod runs or has an event of the operator with the
 * reason. No pod waits for a node that only the engine considers possible.
 *
 * ```sh
 * MIX_SEED=42 MIX_ROUNDS=20 npx jest --selectProjects cluster -t mixes
 * ```
 */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import { EVENT, POD, type Pod } from '#api/objects';
import { pool } from '../operator/pools.ts';
import { dice } from '../operator/random.ts';
import { applyText, type Cluster, exampleText, startSharedCluster, until } from './harness/cluster.ts';
import { type OperatorProcess, startOperatorProcess } from './harness/operators.ts';
import { randomDeployment } from './mixes/mix.ts';

const SEED = Number(process.env.MIX_SEED ?? 1);
const ROUNDS = Number(process.env.MIX_ROUNDS ?? 3);
const roll = dice(SEED);

describe(`a mix of pods with seed ${SEED}`, () => {
  let cluster: Cluster;
  let operator: OperatorProcess;
  /** Names of the existing deployments. */
  const names: string[] = [];

  beforeAll(async () => {
    cluster = await startSharedCluster();
    const shape = { cpus: [2, 4, 8], capacityTypes: ['spot', 'on-demand'], budgets: [{ nodes: '0' }] };
    await applyText(cluster, await exampleText('ec2nodeclass.yaml'), JSON.stringify(pool(shape)));
    operator = await startOperatorProcess(cluster, { DISABLE_LEADER_ELECTION: 'true' });
  }, 180_000);
  afterAll(async () => {
    await operator?.stop();
    await cluster?.stop();
  }, 60_000);

  const pods = async (): Promise<readonly Pod[]> =>
    (await cluster.kube.list(POD)).items.filter(({ metadata }) => metadata.namespace === 'default');

  /** Returns the names of pods whose events contain the reason that they are unschedulable. */
  const explained = async (): Promise<ReadonlySet<string>> => {
    const { items } = await cluster.kube.list(EVENT, { fieldSelector: 'reason=FailedScheduling' });
    return new Set(
      items.filter(({ source }) => source?.component === 'karpenter').map(({ involvedObject }) => involvedObject.name),
    );
  };

  it.each(Array.from({ length: ROUNDS }, (_, round) => round))('runs or is explained, round %s', async (round) => {
    let wanted = (await pods()).length;
    const added: string[] = [];
    for (let count = 6 + roll.upTo(4); count > 0; count -= 1) {
      const name = `mix-${round}-${count}`;
      const made = randomDeployment(roll, name, names);
      names.push(name);
      wanted += Number((made as { readonly spec?: { readonly replicas?: number } }).spec?.replicas);
      added.push(JSON.stringify(made));
    }
    await applyText(cluster, ...added);
    let open: readonly Pod[] = [];
    const decided = async (): Promise<boolean> => {
      const [all, told] = [await pods(), await explained()];
      open = all.filter(({ metadata, status }) => status?.phase !== 'Running' && !told.has(metadata.name));
      return all.length === wanted && open.length === 0;
    };
    await until(cluster, 'a decision on every pod', decided, 120_000).catch((error: unknown) => {
      const lines = open.map(({ metadata, status }) => `${metadata.name}: ${status?.conditions?.[0]?.message ?? ''}`);
      throw new Error(`${lines.join('\n')}\n${String(error)}`);
    });
    const running = (await pods()).filter(({ status }) => status?.phase === 'Running');
    expect(running.length).toBeGreaterThan(wanted / 2);
  }, 180_000);
});
