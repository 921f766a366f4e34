/** Pods of the operator on real kubelets, with their processes on this machine. */
import { readdirSync, readFileSync } from 'node:fs';
import { DEPLOYMENT, type KubeObject, POD } from '#api/objects';
import { type Cluster, NAMESPACE } from '../../cluster/harness/cluster.ts';
import type { LogLine } from '../../cluster/harness/operators.ts';

export interface ContainerState {
  readonly waiting?: { readonly reason: string };
  readonly running?: { readonly startedAt: string };
  readonly terminated?: { readonly exitCode: number; readonly reason?: string };
}

export interface OperatorPod extends KubeObject {
  readonly spec: { readonly nodeName?: string };
  readonly status: {
    readonly phase?: string;
    readonly conditions?: readonly { readonly type: string; readonly status: string }[];
    readonly containerStatuses?: readonly {
      readonly containerID?: string;
      readonly restartCount: number;
      readonly state: ContainerState;
      readonly lastState: ContainerState;
    }[];
  };
}

export const containerOf = (pod: OperatorPod | undefined) => pod?.status.containerStatuses?.[0];

/** Returns the pods of the chart's Deployment that are not being deleted. */
export async function operatorPods({ kube }: Cluster): Promise<readonly OperatorPod[]> {
  const { items } = await kube.list(POD, { namespace: NAMESPACE, labelSelector: 'app.kubernetes.io/name=karpenter' });
  return (items as readonly KubeObject[] as readonly OperatorPod[]).filter(
    ({ metadata }) => metadata.deletionTimestamp === undefined,
  );
}

export const findPod = async ({ kube }: Cluster, name: string): Promise<OperatorPod | undefined> =>
  (await kube.find(POD, { name, namespace: NAMESPACE })) as KubeObject | undefined as OperatorPod | undefined;

/** Returns the process ID of the pod's container in the namespace of this run. */
export function processOf(pod: OperatorPod): number {
  const id = containerOf(pod)?.containerID?.replace('containerd://', '') ?? '';
  if (id === '') throw new Error(`Pod ${pod.metadata.name} has no container`);
  const found = readdirSync('/proc').find((name) => /^\d+$/.test(name) && cgroupOf(name).includes(id));
  if (found === undefined) throw new Error(`Container ${id} has no process`);
  return Number(found);
}

function cgroupOf(pid: string): string {
  try {
    return readFileSync(`/proc/${pid}/cgroup`, 'utf8');
  } catch {
    // the process has exited
    return '';
  }
}

/** Returns the log lines of a pod, which `kubectl logs` prints. */
export async function logOf(
  cluster: Cluster,
  name: string,
  ...options: readonly string[]
): Promise<readonly LogLine[]> {
  const text = await cluster.kubectl('logs', '--namespace', NAMESPACE, name, ...options);
  return text
    .split('\n')
    .filter((line) => line !== '')
    .map((line) => JSON.parse(line) as LogLine);
}

interface LonePodOptions {
  readonly env?: Readonly<Record<string, string>>;
  /** Removes variables and volumes of credentials. */
  readonly withoutCredentials?: boolean;
  readonly memory?: string;
}

interface Container {
  readonly env: readonly { readonly name: string }[];
  readonly resources: { readonly limits: object; readonly requests: object };
}

/**
 * Creates a pod from the template of the chart's Deployment that is not restarted, is not selected by the chart's
 * objects, and never leads.
 */
export async function createLonePod(cluster: Cluster, name: string, options: LonePodOptions): Promise<void> {
  const deployment = await cluster.kube.find(DEPLOYMENT, { name: 'karpenter', namespace: NAMESPACE });
  const {
    affinity: _affinity,
    topologySpreadConstraints: _spread,
    ...spec
  } = deployment?.spec.template.spec as unknown as {
    readonly affinity?: unknown;
    readonly topologySpreadConstraints?: unknown;
    readonly containers: readonly Container[];
    readonly volumes?: unknown;
  };
  const [container] = spec.containers;
  if (container === undefined) throw new Error('The Deployment has no container');
  const { env = {}, withoutCredentials = false, memory } = options;
  // The operator has no permissions for leases in this namespace.
  const added = { LEADER_ELECTION_NAMESPACE: 'default', ...env };
  const kept = container.env.filter(
    ({ name: one }) => !withoutCredentials || !/ROLE_ARN|TOKEN_FILE|CREDENTIALS/.test(one),
  );
  const { resources } = container;
  await cluster.kube.create(POD, {
    apiVersion: 'v1',
    kind: 'Pod',
    metadata: { name, namespace: NAMESPACE, labels: { lone: name } },
    spec: {
      ...spec,
      restartPolicy: 'Never',
      containers: [
        {
          ...container,
          env: [
            ...kept.filter((variable) => !Object.hasOwn(added, variable.name)),
            ...Object.entries(added).map(([key, value]) => ({ name: key, value })),
          ],
          resources: {
            requests: { ...resources.requests, ...(memory === undefined ? {} : { memory }) },
            limits: { ...resources.limits, ...(memory === undefined ? {} : { memory }) },
          },
        },
      ],
    },
  } as never);
}
