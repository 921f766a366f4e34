/** Operators that can be killed in the middle of a request, and what the world saw of them. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { getCondition, isTrue } from '../../src/api/conditions.ts';
import { DISRUPTED_TAINT, INITIALIZED_LABEL } from '../../src/api/labels.ts';
import type { Operator } from '../../src/main.ts';
import { type Moment, type SeenRequest, startCuttableProxy } from './cuttable-proxy.ts';
import type { Scenario } from './harness.ts';

/** Whether a request, at this moment, is where the operator shall die. */
export type CrashPoint = (request: SeenRequest, moment: Moment) => boolean;

export interface CrashableOperator {
  /** Starts an operator, which dies by the trap; without one it lives until `kill`. */
  start(trap?: CrashPoint): Promise<void>;
  /** Sets or replaces the trap of the operator that runs. */
  arm(trap: CrashPoint): void;
  /** Cuts the operator off from the API server at this request, for this much of the scenario's time; it lives on. */
  cutOff(at: CrashPoint, forMs: number): void;
  /** Resolves when the operator of the last `start` or `arm` is dead. */
  readonly died: Promise<void>;
  kill(): Promise<void>;
  /** Evictions that were asked for while no node stood ready to take the pod. */
  readonly hasty: readonly string[];
  close(): Promise<void>;
}

const isEviction = ({ method, url }: SeenRequest): boolean => method === 'POST' && url.includes('/eviction');

/** @param scenario one without an operator */
export async function crashableOperator(scenario: Scenario): Promise<CrashableOperator> {
  const { world } = scenario;
  const kube = await startCuttableProxy(world.kube.url, world.kube.certificate);
  const aws = await startCuttableProxy(world.aws.url);
  const folder = await mkdtemp(join(tmpdir(), 'mortal-'));
  const kubeconfig = join(folder, 'kubeconfig');
  await writeFile(kubeconfig, world.kube.kubeconfig().replaceAll(world.kube.url, kube.url), { mode: 0o600 });
  const hasty: string[] = [];
  let operator: Operator | undefined;
  let trap: CrashPoint = () => false;
  let death = Promise.withResolvers<void>();
  let cuts: CrashPoint = () => false;

  const die = (): void => {
    kube.cut();
    aws.cut();
    // It cannot reach anybody any more; this only ends its timers.
    const last = operator;
    operator = undefined;
    void Promise.resolve(last?.stop()).then(death.resolve, death.reject);
  };
  const isReady = async (): Promise<boolean> =>
    (await scenario.nodes()).some(
      (node) =>
        isTrue(node, 'Ready') &&
        node.metadata.labels?.[INITIALIZED_LABEL] === 'true' &&
        !node.metadata.deletionTimestamp &&
        !node.spec?.taints?.some(({ key }) => key === DISRUPTED_TAINT.key),
    );
  const watch = async (request: SeenRequest, moment: Moment): Promise<boolean> => {
    if (moment === 'before' && isEviction(request) && !(await isReady())) hasty.push(request.url);
    if (operator === undefined || !trap(request, moment)) return false;
    die();
    return true;
  };
  kube.watch(async (request, moment) => cuts(request, moment) || watch(request, moment));
  aws.watch(watch);

  return {
    async start(next = () => false) {
      death = Promise.withResolvers();
      trap = next;
      kube.mend();
      aws.mend();
      process.env.AWS_ENDPOINT_URL = aws.url;
      operator = await scenario.startOperator({ env: { KUBECONFIG: kubeconfig } });
    },
    arm(next) {
      trap = next;
    },
    cutOff(at, forMs) {
      cuts = (request, moment) => {
        if (!at(request, moment)) return false;
        cuts = () => false;
        world.clock.after(forMs, () => kube.mend());
        return true;
      };
    },
    get died() {
      return death.promise;
    },
    async kill() {
      if (operator === undefined) return;
      die();
      await death.promise;
    },
    hasty,
    async close() {
      await operator?.stop();
      await Promise.all([kube.close(), aws.close(), rm(folder, { recursive: true, force: true })]);
    },
  };
}

/** @throws Error when the operator does not come to its end in time */
export async function untilDead(scenario: Scenario, operator: CrashableOperator): Promise<void> {
  let isDead = false;
  void operator.died.then(() => {
    isDead = true;
  });
  await scenario.until('death of the operator', () => isDead, 60_000);
}

/** Nodes and claims that still show marks of a disruption. */
export async function marks(scenario: Scenario): Promise<readonly string[]> {
  const [nodes, claims] = [await scenario.nodes(), await scenario.claims()];
  return [
    ...nodes.filter((node) => node.spec?.taints?.some(({ key }) => key === DISRUPTED_TAINT.key)),
    ...claims.filter((claim) => getCondition(claim, 'DisruptionReason') !== undefined),
  ].map(({ metadata }) => metadata.name);
}
