/** The operator's controllers with an in-memory API server and cloud, and a clock that tests advance. */

import {
  DISRUPTED_TAINT,
  EC2_NODE_CLASS,
  type EC2NodeClass,
  isTrue,
  NODE,
  NODE_CLAIM,
  NODE_POOL,
  type Node,
  type NodeClaim,
  type NodePool,
  type OwnerReference,
  POD,
  type Pod,
  UNREGISTERED_TAINT,
} from '#api/objects';
import { parseAwsSettings } from '#aws/settings';
import type { VerdictHistory } from '#engine/disruption';
import type { SimulationRunner, Solver } from '#engine-worker';
import { type EventNote, runControllers } from '#kube/reconcilers';
import type { Metrics } from '#observe/metrics';
import { createMetrics } from '#observe/setup';
import type { Tracer } from '#observe/traces';
import type { Pressure } from '#process/memory';
import type { ClusterState } from '#state';
import type { KeptHistory } from '../../../src/controllers/cost/index.ts';
import type { MoveHistory } from '../../../src/controllers/disruption/moves.ts';
import { createOperator } from '../../../src/controllers/operator.ts';
import type { LaunchBudget } from '../../../src/controllers/provisioning/launch-budget.ts';
import { NodeTraces } from '../../../src/controllers/traces/node-traces.ts';
import { MemoryKube } from '../../support/memory-kube.ts';
import { partial } from '../../support/partial.ts';
import { type Line, recordingLog } from '../kube/fakes.ts';
import { type SettableClock, settableClock } from '../virtualclock.ts';
import { FakeCloud } from './fake-cloud.ts';

interface Operator {
  readonly stop: AbortController;
  readonly cluster: ClusterState;
  readonly done: Promise<void>;
}

export class World {
  readonly clock: SettableClock = settableClock();
  readonly kube: MemoryKube;
  readonly cloud = new FakeCloud(this.clock);
  readonly events: EventNote[] = [];
  readonly lines: Line[];
  readonly #log;
  metrics: Metrics = createMetrics();
  /** Random numbers in [0, 1) for names and waits. Undefined for Math.random. */
  protected readonly random: (() => number) | undefined = undefined;
  /** Solver of the engine in this thread, unless a test replaces it. */
  solver: Solver | undefined;
  pressure: Pressure | undefined;
  /** Launch budget of the operator that started last. */
  launches: LaunchBudget | undefined;
  /** Disruption simulations in this thread, unless a test replaces them. */
  simulations: SimulationRunner | undefined;
  /** History of decisions and costs. Undefined unless a test sets it. */
  costHistory: KeptHistory | undefined;
  /** Receives traces if a test sets it. */
  tracer: Tracer | undefined;
  traces: NodeTraces | undefined;
  #operator: Operator | undefined;
  #serial = 0;
  /** CPU of the pods on each node, in millicores. Undefined after a pod was bound. */
  #usedCpu: ReadonlyMap<string, number> | undefined;
  readonly #deployments = new Map<string, { readonly replicas: number; readonly cpu: string }>();
  /** If true, instances join as Nodes and the scheduler binds pods to Nodes with room. */
  joining = true;

  /** `lagMs` is the delay until caches contain a write. */
  constructor(lagMs = 5) {
    this.kube = new MemoryKube(this.clock, lagMs);
    const { log, lines } = recordingLog();
    this.#log = log;
    this.lines = lines;
  }

  get cluster(): ClusterState {
    if (this.#operator === undefined) throw new Error('the operator does not run');
    return this.#operator.cluster;
  }

  get claims(): readonly NodeClaim[] {
    return this.kube.all(NODE_CLAIM);
  }

  get nodes(): readonly Node[] {
    return this.kube.all(NODE);
  }

  get pods(): readonly Pod[] {
    return this.kube.all(POD);
  }

  /**
   * `history` records the verdicts of every node, `moves` the disruption moves. Steering is off unless the arguments
   * enable it, so that consolidation does not wait for marked nodes.
   */
  start(args: readonly string[] = [], history?: VerdictHistory, moves?: MoveHistory): void {
    const stop = new AbortController();
    const { signal } = stop;
    const settings = parseAwsSettings(['--cluster-name=test', '--node-hourly-fee=0', '--steering=false', ...args], {});
    const { clock, cloud } = this;
    const informers = this.kube.informers(signal);
    this.metrics = createMetrics();
    const { metrics, tracer, solver, simulations, costHistory, random, pressure } = this;
    this.traces = tracer && new NodeTraces({ tracer, clock, metrics });
    const common = { informers, clock, log: this.#log, metrics, random };
    const { deps, controllers, launches } = createOperator({
      ...common,
      ...{ settings, pressure, history, moves, solver, simulations, costHistory },
      provider: { provider: cloud },
      client: this.kube.client(signal),
      events: { publish: (...notes) => void this.events.push(...notes) },
      namespace: 'kube-system',
      traces: this.traces,
    });
    this.launches = launches;
    const { done } = runControllers({ ...common, controllers, signal });
    this.#operator = { stop, cluster: deps.cluster, done };
  }

  /** Stops the operator like a crash, which loses unwritten state. */
  kill(): void {
    this.#operator?.stop.abort();
    this.#operator = undefined;
  }

  /** Advances time in steps, with updates of the rest of the world after each step. */
  async pass(seconds: number): Promise<void> {
    for (let second = 0; second < seconds; second += 1) {
      await this.clock.advance(1000);
      if (this.joining) this.joinInstances();
      this.#keepReplicas();
      this.bindPods();
    }
  }

  /** Creates pods that are created again when they are evicted. */
  deploy(name: string, replicas: number, cpu = '1'): void {
    this.#deployments.set(name, { replicas, cpu });
    this.#keepReplicas();
  }

  #keepReplicas(): void {
    for (const [name, { replicas, cpu }] of this.#deployments) {
      const alive = this.pods.filter(({ metadata }) => metadata.labels?.app === name);
      const owner = { apiVersion: 'apps/v1', kind: 'ReplicaSet', name, uid: `uid-${name}`, controller: true };
      this.pending(Math.max(0, replicas - alive.length), cpu, name, [owner]);
      this.removePods(...alive.slice(replicas));
    }
  }

  /** Creates a ready Node for every instance without a Node. */
  joinInstances(): void {
    for (const [providerID, { created, terminatedMs }] of this.cloud.instances) {
      if (terminatedMs !== undefined || this.nodes.some(({ spec }) => spec?.providerID === providerID)) continue;
      this.join(providerID, created);
    }
  }

  join(providerID: string, created: NodeClaim, more: Partial<Node> = {}): Node {
    this.#serial += 1;
    const lastTransitionTime = new Date(this.clock.now()).toISOString();
    return this.kube.create(NODE, {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: { name: `node-${this.#serial}`, labels: { ...created.metadata.labels } },
      spec: { providerID, taints: [UNREGISTERED_TAINT] },
      status: {
        capacity: created.status?.capacity ?? {},
        allocatable: created.status?.allocatable ?? {},
        conditions: [{ type: 'Ready', status: 'True', lastTransitionTime }],
      },
      ...more,
    });
  }

  /** A simple scheduler that considers only CPU and untainted nodes. */
  bindPods(): void {
    this.#usedCpu = undefined;
    for (const pod of this.pods.filter(({ spec }) => !spec.nodeName)) {
      const node = this.nodes.find((candidate) => this.takes(candidate, pod));
      if (node === undefined) continue;
      const bound = this.kube.patch(POD, pod.metadata, { spec: { nodeName: node.metadata.name } });
      this.kube.patch(POD, bound.metadata, { status: { phase: 'Running', conditions: [] } }, 'status');
      this.#usedCpu = undefined;
    }
  }

  protected takes(node: Node, pod: Pod): boolean {
    if ((node.spec?.taints ?? []).length > 0 || !isTrue(node, 'Ready') || node.metadata.deletionTimestamp) return false;
    return this.hasCpuFor(node, pod);
  }

  /** Reports whether the node has as much CPU left as the pod requests. */
  protected hasCpuFor(node: Node, pod: Pod): boolean {
    this.#usedCpu ??= usedCpuOf(this.pods);
    const used = this.#usedCpu.get(node.metadata.name) ?? 0;
    const total = String(node.status?.allocatable?.cpu ?? '0');
    const milli = total.endsWith('m') ? Number(total.slice(0, -1)) : Number(total) * 1000;
    return used + cpuOf(pod) <= milli;
  }

  nodePool(name = 'default', spec: Partial<NodePool['spec']> = {}): NodePool {
    const nodeClassRef = { group: EC2_NODE_CLASS.group, kind: EC2_NODE_CLASS.kind, name: 'default' };
    if (!this.kube.find(EC2_NODE_CLASS, { name: 'default' })) {
      this.kube.create(EC2_NODE_CLASS, {
        apiVersion: 'karpenter.k8s.aws/v1',
        kind: 'EC2NodeClass',
        metadata: { name: 'default' },
        spec: partial<EC2NodeClass['spec']>({}),
        status: { conditions: [{ type: 'Ready', status: 'True', reason: 'Ready', message: '' }] },
      });
    }
    return this.kube.create(NODE_POOL, {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodePool',
      metadata: { name },
      spec: {
        template: { spec: { nodeClassRef, requirements: [], expireAfter: '720h' } },
        disruption: { consolidateAfter: '0s', budgets: [{ nodes: '100%' }] },
        ...spec,
      },
    });
  }

  /** Creates pods that the scheduler could not place. */
  pending(count: number, cpu = '1', name = 'web', ownerReferences: readonly OwnerReference[] = []): readonly Pod[] {
    return Array.from({ length: count }, () => {
      this.#serial += 1;
      return this.kube.create(POD, {
        apiVersion: 'v1',
        kind: 'Pod',
        metadata: { name: `${name}-${this.#serial}`, namespace: 'default', labels: { app: name }, ownerReferences },
        spec: { containers: [{ name: 'main', resources: { requests: { cpu } } }] },
        status: {
          phase: 'Pending',
          conditions: [{ type: 'PodScheduled', status: 'False', reason: 'Unschedulable' }],
        },
      });
    });
  }

  removePods(...pods: readonly Pod[]): void {
    for (const pod of pods) this.kube.delete(POD, pod.metadata);
  }

  /** Makes pods look as if kube-scheduler had not tried them. Their NodeClaims stay, but no further nodes are launched. */
  leaveUntried(...pods: readonly Pod[]): void {
    for (const { metadata } of pods) this.kube.patch(POD, metadata, { status: { conditions: [] } }, 'status');
  }

  eventReasons(): readonly string[] {
    return this.events.map(({ reason }) => reason);
  }

  errors(): readonly string[] {
    return this.lines
      .filter(({ level }) => level === 'error')
      .map(({ message, fields }) => `${message}: ${fields.error}`);
  }

  disruptedNodes(): readonly Node[] {
    return this.nodes.filter(({ spec }) => (spec?.taints ?? []).some(({ key }) => key === DISRUPTED_TAINT.key));
  }
}

function usedCpuOf(pods: readonly Pod[]): ReadonlyMap<string, number> {
  const used = new Map<string, number>();
  for (const pod of pods) {
    const { nodeName } = pod.spec;
    if (nodeName) used.set(nodeName, (used.get(nodeName) ?? 0) + cpuOf(pod));
  }
  return used;
}

function cpuOf(pod: Pod): number {
  return pod.spec.containers.reduce((sum, { resources }) => {
    const cpu = String(resources?.requests?.cpu ?? '0');
    return sum + (cpu.endsWith('m') ? Number(cpu.slice(0, -1)) : Number(cpu) * 1000);
  }, 0);
}

export const conditionOf = (claim: NodeClaim | undefined, type: string): string | undefined => {
  const condition = claim?.status?.conditions?.find((found) => found.type === type);
  return condition && `${condition.status}/${condition.reason}`;
};
