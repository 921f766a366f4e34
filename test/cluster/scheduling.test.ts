/** The local scheduler places pods as kube-scheduler does, so that the results of replays hold for real clusters. */
import { afterAll, beforeAll, describe, expect, it } from '@jest/globals';
import {
  type Kind,
  NAMESPACE,
  NODE,
  POD,
  REPLICA_SET,
  REPLICATION_CONTROLLER,
  SERVICE,
  STATEFUL_SET,
} from '../../src/api/kinds.ts';
import type { KubeObject, Node, Pod } from '../../src/api/kubernetes.ts';
import type { ObjectClient } from '../../src/local/client.ts';
import { type ControlPlane, startControlPlane } from './harness/controlplane.ts';
import { Draws, NAMESPACES, nodeFrom, SOFT_TAINT, type Workload, workloadsFrom } from './scheduling/cases.ts';
import { type Choice, type LocalScheduler, openLocalScheduler, RealScheduler } from './scheduling/schedulers.ts';

/** Decisions between several nodes that are not ties, over all clusters. */
const DECISIONS = 2_000;
const CLUSTERS = 4;
const LEAST_AGREEMENT = 0.98;
const SHOWN = 5;
/** Beyond this number of nodes, kube-scheduler rates a part of them, and which part depends on its threads. */
const NODES = 40;
/** Pods at which the oldest begin to leave. */
const MOST_PODS = 260;
/** Decisions between two changes of a node. */
const STEADY = 100;
/** The scheduler watches nodes and pods separately. */
const NODE_WATCH_MS = 500;

const KINDS: readonly Kind[] = [NODE, NAMESPACE, SERVICE, REPLICA_SET, STATEFUL_SET, REPLICATION_CONTROLLER, POD];
const kindOf = ({ kind }: KubeObject): Kind => KINDS.find((one) => one.kind === kind) as Kind;
const sleep = (ms: number): Promise<void> => new Promise((resolve) => setTimeout(resolve, ms));

interface Decision {
  readonly pod: Pod;
  readonly real: string | undefined;
  readonly local: Choice;
}

const agrees = ({ real, local: { best } }: Decision): boolean =>
  real === undefined ? best.length === 0 : best.includes(real);
const isDecided = ({ local: { best, feasible } }: Decision): boolean => feasible > 1 && best.length === 1;

/** The same cluster on a real control plane and in the local API server. */
class Pair {
  readonly #real: ObjectClient;
  readonly #scheduler: RealScheduler;
  readonly #local: LocalScheduler;

  constructor(real: ObjectClient, scheduler: RealScheduler) {
    this.#real = real;
    this.#scheduler = scheduler;
    this.#local = openLocalScheduler();
  }

  async inBoth(act: (client: ObjectClient) => Promise<unknown>): Promise<void> {
    await act(this.#real);
    await act(this.#local.client);
  }

  /** Lets both decide, and binds the pod where kube-scheduler put it, so that differences do not add up. */
  async decide(pod: Pod): Promise<Decision> {
    const { client } = this.#local;
    const local = this.#local.choose(await client.create(POD, pod));
    const real = await this.#scheduler.place(pod);
    if (real === undefined) await this.inBoth((each) => each.delete(POD, pod.metadata, { gracePeriodSeconds: 0 }));
    else
      await client.post(POD, pod.metadata, 'binding', {
        apiVersion: 'v1',
        kind: 'Binding',
        metadata: pod.metadata,
        target: { apiVersion: 'v1', kind: 'Node', name: real },
      });
    return { pod, real, local };
  }
}

const setTaints = (node: Node, taints: Node['spec']) => (client: ObjectClient) =>
  client.patch(NODE, node.metadata, { spec: taints });

async function fill(
  pair: Pair,
  draws: Draws,
  seed: number,
): Promise<{ nodes: readonly Node[]; workloads: readonly Workload[] }> {
  const nodes = Array.from({ length: NODES }, (_, index) => nodeFrom(draws, index));
  const workloads = workloadsFrom(draws, `app-${seed}`);
  for (const object of [...nodes, ...workloads.flatMap(({ objects }) => objects)])
    await pair.inBoth((client) => client.create(kindOf(object), object));
  // The API server taints new nodes as not ready.
  for (const node of nodes) await pair.inBoth(setTaints(node, { taints: node.spec?.taints ?? [] }));
  await sleep(NODE_WATCH_MS);
  return { nodes, workloads };
}

/** Places pods of random workloads; pods leave at random, and nodes get and lose a soft taint. */
async function live(pair: Pair, seed: number, count: number): Promise<readonly Decision[]> {
  const draws = new Draws(seed);
  const { nodes, workloads } = await fill(pair, draws, seed);
  const running: Pod[] = [];
  const decisions: Decision[] = [];
  while (decisions.filter(isDecided).length < count) {
    if (decisions.length % STEADY === STEADY - 1) {
      const [node, taints] = [draws.one(nodes), draws.isWithin(0.5) ? [SOFT_TAINT] : []];
      await pair.inBoth(setTaints(node, { taints }));
      await sleep(NODE_WATCH_MS);
    }
    const pod = draws.one(workloads).pod(`pod-${seed}-${decisions.length}`);
    const decision = await pair.decide(pod);
    decisions.push(decision);
    if (decision.real !== undefined) running.push(pod);
    const isFull = decision.real === undefined || running.length > MOST_PODS;
    for (let left = isFull ? 1 + draws.below(8) : 0; left > 0 && running.length > 0; left -= 1) {
      const [gone] = running.splice(draws.below(running.length), 1);
      if (gone) await pair.inBoth((client) => client.delete(POD, gone.metadata, { gracePeriodSeconds: 0 }));
    }
  }
  for (const { metadata } of running)
    await pair.inBoth((client) => client.delete(POD, metadata, { gracePeriodSeconds: 0 }));
  for (const { metadata } of nodes) await pair.inBoth((client) => client.delete(NODE, metadata));
  await sleep(NODE_WATCH_MS);
  return decisions;
}

describe('the local scheduler beside kube-scheduler', () => {
  let plane: ControlPlane;
  const end = new AbortController();

  beforeAll(async () => {
    plane = await startControlPlane({ controllers: 'scheduler' });
  }, 180_000);
  afterAll(async () => {
    end.abort();
    await plane?.stop();
  }, 60_000);

  it(`chooses the same node in at least ${LEAST_AGREEMENT * 100} % of ${DECISIONS} decisions`, async () => {
    const scheduler = new RealScheduler(plane.client, end.signal);
    const other = { apiVersion: 'v1', kind: 'Namespace', metadata: { name: NAMESPACES[1], labels: { team: 'x' } } };
    await plane.client.create(NAMESPACE, other);
    const decisions: Decision[] = [];
    for (let seed = 1; seed <= CLUSTERS; seed += 1) {
      const pair = new Pair(plane.client, scheduler);
      await pair.inBoth(
        async (client) => (await client.find(NAMESPACE, other.metadata)) ?? client.create(NAMESPACE, other),
      );
      decisions.push(...(await live(pair, seed, DECISIONS / CLUSTERS)));
    }
    const decided = decisions.filter(isDecided);
    const rest = decisions.filter((one) => !isDecided(one));
    expect(decided.length).toBeGreaterThanOrEqual(DECISIONS);
    for (const group of [decided, rest]) {
      const different = group.filter((one) => !agrees(one));
      const isTooMuch = different.length > (1 - LEAST_AGREEMENT) * group.length;
      // a failure shows some of them
      expect(isTooMuch ? different.slice(0, SHOWN) : []).toEqual([]);
    }
  }, 1_800_000);
});
