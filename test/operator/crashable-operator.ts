/** Operators that can be killed in the middle of a request, with a record of the effects that the world observed. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { DISRUPTED_TAINT, getCondition, INITIALIZED_LABEL, isTrue } from '#api/objects';
import type { Operator } from '../../src/main.ts';
import { type Moment, type SeenRequest, startCuttableProxy } from './cuttable-proxy.ts';
import type { Scenario } from './harness.ts';

/** Reports whether the operator must be killed at this request and moment. */
export type CrashPoint = (request: SeenRequest, moment: Moment) => boolean;

export interface CrashableOperator {
  /** Starts an operator that is killed at the trap. Without a trap it runs until `kill`. */
  start(trap?: CrashPoint): Promise<void>;
  /** Sets or replaces the trap of the running operator. */
  arm(trap: CrashPoint): void;
  /** Disconnects the operator from the API server at this request, for this duration on the scenario's clock. */
  cutOff(at: CrashPoint, forMs: number): void;
  /** Resolves when the operator of the last `start` or `arm` is dead. */
  readonly died: Promise<void>;
  kill(): Promise<void>;
  /** Evictions that the operator requested while no other node was ready to take the pod. */
  readonly hasty: readonly string[];
  close(): Promise<void>;
}

const isEviction = ({ method, url }: SeenRequest): boolean => method === 'POST' && url.includes('/eviction');

/** @param scenario a scenario without an operator */
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
    // The operator is already disconnected from its servers; this call only stops its timers.
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

/** @throws Error if the operator is not killed in time */
export async function untilDead(scenario: Scenario, operator: CrashableOperator): Promise<void> {
  let isDead = false;
  void operator.died.then(() => {
    isDead = true;
  });
  await scenario.until('death of the operator', () => isDead, 60_000);
}

/** Returns the nodes and NodeClaims that still carry a taint or condition of a disruption. */
export async function marks(scenario: Scenario): Promise<readonly string[]> {
  const [nodes, claims] = [await scenario.nodes(), await scenario.claims()];
  return [
    ...nodes.filter((node) => node.spec?.taints?.some(({ key }) => key === DISRUPTED_TAINT.key)),
    ...claims.filter((claim) => getCondition(claim, 'DisruptionReason') !== undefined),
  ].map(({ metadata }) => metadata.name);
}
