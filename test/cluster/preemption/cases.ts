/** Random small clusters of pods with priorities, and pods that may preempt them. */
import {
  type Affinity,
  HOSTNAME_LABEL,
  type KubeObject,
  type Node,
  type Pod,
  type PodDisruptionBudget,
  type PodSpec,
  type StringMap,
} from '#api/objects';
import { timestamp } from '#lib';
import type { Draws } from '../scheduling/cases.ts';

/** Values of the PriorityClasses `priority-0` to `priority-3`. */
const PRIORITIES = [-5, 0, 10, 1000] as const;
const PEACEFUL = 'peaceful';

export const PRIORITY_CLASSES: readonly KubeObject[] = [
  ...PRIORITIES.map((value, index) => ({ metadata: { name: `priority-${index}` }, value })),
  { metadata: { name: PEACEFUL }, value: PRIORITIES[3], preemptionPolicy: 'Never' },
].map((fields) => ({ apiVersion: 'scheduling.k8s.io/v1', kind: 'PriorityClass', ...fields }));
const CPUS = 4;
const APPS = ['web', 'api', 'job'] as const;
const STARTED_MS = Date.parse('2026-01-01T00:00:00Z');
const namespace = 'default';

export function nodesOf(count: number): readonly Node[] {
  const amounts = { cpu: `${CPUS}`, memory: '8Gi', pods: '20' };
  return Array.from({ length: count }, (_, index) => ({
    apiVersion: 'v1',
    kind: 'Node',
    metadata: { name: `node-${index}`, labels: { [HOSTNAME_LABEL]: `node-${index}` } },
    spec: {},
    status: { allocatable: amounts, capacity: amounts, conditions: [{ type: 'Ready', status: 'True' }] },
  })) as unknown as readonly Node[];
}

interface Shape {
  readonly name: string;
  readonly cpu: number;
  readonly priority: number;
  readonly labels: StringMap;
}

const podOf = ({ name, cpu, priority, labels }: Shape, spec: Partial<PodSpec> = {}): Pod => ({
  apiVersion: 'v1',
  kind: 'Pod',
  metadata: { name, namespace, labels },
  spec: {
    priorityClassName: `priority-${priority}`,
    containers: [{ name: 'main', image: 'pause', resources: { requests: { cpu: `${cpu * 500}m`, memory: '64Mi' } } }],
    ...spec,
  },
});

const shapeOf = (draws: Draws, name: string, priority: number): Shape => ({
  name,
  cpu: 1 + draws.below(CPUS),
  priority,
  labels: draws.isWithin(0.8) ? { app: draws.one(APPS) } : {},
});

const apart = (app: string): Affinity => ({
  podAntiAffinity: {
    requiredDuringSchedulingIgnoredDuringExecution: [
      { topologyKey: HOSTNAME_LABEL, labelSelector: { matchLabels: { app } } },
    ],
  },
});

/** Pods that are bound to a node. Pods of one node may start in the same minute, and its first pod may not have started. */
function runningFrom(draws: Draws, prefix: string, node: Node): readonly Pod[] {
  const pods: Pod[] = [];
  for (let left = 2 * CPUS; left > 0; ) {
    const shape = shapeOf(draws, `${prefix}-${node.metadata.name}-${pods.length}`, draws.below(PRIORITIES.length - 1));
    const cpu = Math.min(shape.cpu, left);
    left -= cpu + draws.below(3);
    const startTime = timestamp(STARTED_MS + 60_000 * draws.below(3));
    pods.push({
      ...podOf({ ...shape, cpu }, { nodeName: node.metadata.name }),
      // kube-scheduler orders several pods without a start by the time of their comparison
      status: pods.length > 0 || draws.isWithin(0.7) ? { phase: 'Running', startTime } : {},
    });
  }
  return pods;
}

function budgetsFrom(draws: Draws, prefix: string): readonly PodDisruptionBudget[] {
  return APPS.filter(() => draws.isWithin(0.6)).map((app) => ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: `${prefix}-${app}`, namespace },
    spec: { minAvailable: 0, selector: draws.isWithin(0.9) ? { matchLabels: { app } } : {} },
    status: {
      disruptionsAllowed: draws.below(3),
      currentHealthy: 1,
      desiredHealthy: 1,
      expectedPods: 1,
      ...(draws.isWithin(0.2) && { disruptedPods: { [`${prefix}-node-0-0`]: timestamp(STARTED_MS) } }),
    },
  })) as unknown as readonly PodDisruptionBudget[];
}

export interface PreemptionCase {
  readonly running: readonly Pod[];
  readonly budgets: readonly PodDisruptionBudget[];
  readonly incoming: Pod;
}

/** @param prefix prefix of the names of all objects */
export function caseFrom(draws: Draws, prefix: string, nodes: readonly Node[]): PreemptionCase {
  const shape = shapeOf(draws, `${prefix}-incoming`, 1 + draws.below(PRIORITIES.length - 1));
  const selected = draws.isWithin(0.15) && { nodeSelector: { [HOSTNAME_LABEL]: draws.one(nodes).metadata.name } };
  const spec: Partial<PodSpec> = {
    ...(draws.isWithin(0.1) && { priorityClassName: PEACEFUL }),
    ...(draws.isWithin(0.25) && { affinity: apart(draws.one(APPS)) }),
    ...(selected || {}),
  };
  return {
    running: nodes.flatMap((node) => runningFrom(draws, prefix, node)),
    budgets: budgetsFrom(draws, prefix),
    incoming: podOf({ ...shape, cpu: shape.cpu + draws.below(CPUS) }, spec),
  };
}
