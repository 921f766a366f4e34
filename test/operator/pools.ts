/** NodePools with predictable launches: on demand, one architecture, few sizes, and no wait before consolidation. */
import { type Budget, DISRUPTED_TAINT, isTrue, type KubeObject, type NodePool } from '#api/objects';
import { deployment, type LogLine, type Scenario } from './harness.ts';

export interface PoolShape {
  readonly name?: string;
  /** vCPUs of the allowed instance types. Default 8. */
  readonly cpus?: readonly number[];
  readonly budgets?: readonly Budget[];
  readonly consolidateAfter?: string;
  readonly consolidationPolicy?: string;
  readonly expireAfter?: string;
  readonly terminationGracePeriod?: string;
  readonly labels?: Readonly<Record<string, string>>;
  readonly capacityTypes?: readonly string[];
  /** Instance categories. Default: c, m and r of newer generations. */
  readonly categories?: readonly string[];
}

export function pool(shape: PoolShape = {}): KubeObject {
  const { terminationGracePeriod, labels, cpus = [8] } = shape;
  const made: Pick<NodePool, 'apiVersion' | 'kind' | 'metadata'> & { readonly spec: unknown } = {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name: shape.name ?? 'default' },
    spec: {
      template: {
        metadata: { labels: labels ?? {} },
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
          expireAfter: shape.expireAfter ?? 'Never',
          ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
          requirements: [
            { key: 'karpenter.sh/capacity-type', operator: 'In', values: shape.capacityTypes ?? ['on-demand'] },
            { key: 'kubernetes.io/arch', operator: 'In', values: ['amd64'] },
            { key: 'karpenter.k8s.aws/instance-category', operator: 'In', values: shape.categories ?? ['c', 'm', 'r'] },
            ...(shape.categories === undefined
              ? [{ key: 'karpenter.k8s.aws/instance-generation', operator: 'Gt', values: ['4'] }]
              : []),
            { key: 'karpenter.k8s.aws/instance-cpu', operator: 'In', values: cpus.map(String) },
          ],
        },
      },
      disruption: {
        consolidationPolicy: shape.consolidationPolicy ?? 'WhenEmptyOrUnderutilized',
        consolidateAfter: shape.consolidateAfter ?? '0s',
        budgets: shape.budgets ?? [{ nodes: '100%' }],
      },
    },
  };
  return made;
}

/** Returns an anti-affinity that puts each pod of an app on a separate node. */
export const apart = (app: string): Record<string, unknown> => ({
  affinity: {
    podAntiAffinity: {
      requiredDuringSchedulingIgnoredDuringExecution: [
        { labelSelector: { matchLabels: { app } }, topologyKey: 'kubernetes.io/hostname' },
      ],
    },
  },
});

/** Returns a PodDisruptionBudget for at most this many unavailable pods of a deployment. */
export const budgetFor = (app: string, maxUnavailable: number): KubeObject =>
  ({
    apiVersion: 'policy/v1',
    kind: 'PodDisruptionBudget',
    metadata: { name: app, namespace: 'default' },
    spec: { maxUnavailable, selector: { matchLabels: { app } } },
  }) as KubeObject;

/**
 * Launches a pool's nodes of 8 vCPUs, each filled by one large pod and some small ones, and then deletes the large
 * pods. The budgets stay closed until all nodes are consolidatable. Then an operator starts with open budgets. A
 * running operator could see the change in the middle of a pass, after some of its methods ran.
 * @param open allows disruption in another way
 */
export async function outgrow(
  scenario: Scenario,
  shape: PoolShape,
  { nodes, small }: { readonly nodes: number; readonly small: number },
  open: () => Promise<unknown> = () => scenario.restartOperator(() => scenario.apply(pool(shape))),
): Promise<void> {
  await scenario.apply(
    pool({ ...shape, budgets: [{ nodes: '0' }] }),
    budgetFor('small', 1),
    deployment('big', nodes, {}, { cpu: '7' }),
  );
  const run = async (app: string, pods: number): Promise<unknown> =>
    scenario.until(`${app} pods running`, async () => (await scenario.running(app)).length === pods);
  await run('big', nodes);
  // the small pods are created last: otherwise one of them could be seen alone and get a node of its own
  await scenario.apply(deployment('small', small, {}, { cpu: '400m' }));
  await run('small', small);
  const present = (await scenario.nodes()).length;
  if (present !== nodes) throw new Error(`expected ${nodes} nodes and found ${present}`);
  await scenario.scale('big', 0);
  await scenario.until(
    'the nodes to count as consolidatable',
    async () =>
      (await scenario.pods('big')).length === 0 &&
      (await scenario.claims()).every((claim) => isTrue(claim, 'Consolidatable')),
  );
  await open();
}

/** Returns the log lines at which disruption commands start, oldest first. */
export const commands = ({ log }: Scenario): readonly LogLine[] =>
  log.filter((line) => line.message === 'disrupting node(s)');

/** Returns the names of nodes with the disrupted taint. */
export const taintedNodes = async (scenario: Scenario): Promise<readonly string[]> =>
  (await scenario.nodes())
    .filter((node) => node.spec?.taints?.some(({ key }) => key === DISRUPTED_TAINT.key))
    .map((node) => node.metadata.name);

/** Returns inconsistencies between NodeClaims, nodes and instances of a world at rest. Empty if all of them match. */
export async function leaks(scenario: Scenario): Promise<readonly string[]> {
  const claims = await scenario.claims();
  const nodes = await scenario.nodes();
  const instances = scenario.instances();
  const claimed = new Set(claims.map((claim) => claim.status?.providerID?.split('/').at(-1)));
  const joined = new Set(nodes.map((node) => node.spec?.providerID?.split('/').at(-1)));
  return [
    ...instances.filter(({ id }) => !claimed.has(id)).map(({ id }) => `instance ${id} has no claim`),
    ...claims
      .filter((claim) => !instances.some(({ id }) => claim.status?.providerID?.endsWith(`/${id}`)))
      .map(({ metadata }) => `claim ${metadata.name} has no instance`),
    ...instances.filter(({ id }) => !joined.has(id)).map(({ id }) => `instance ${id} has no node`),
    ...nodes
      .filter((node) => !claimed.has(node.spec?.providerID?.split('/').at(-1)))
      .map(({ metadata }) => `node ${metadata.name} has no claim`),
    ...(await taintedNodes(scenario)).map((name) => `node ${name} is tainted`),
    ...claims
      .filter((claim) => claim.status?.conditions?.some(({ type }) => type === 'DisruptionReason'))
      .map(({ metadata }) => `claim ${metadata.name} has a disruption reason`),
  ];
}

/**
 * Options with fast instances and a fast clock, for scenarios in which the duration of launches is irrelevant.
 * First-fit packing makes the initial nodes of each scenario predictable.
 */
export const BRISK = {
  env: { PACKING: 'compatible' },
  timeScale: 40,
  instances: { startDelayMs: 2_000, stopDelayMs: 4_000 },
  kubelets: { bootMs: 6_000, readyMs: 2_000 },
} as const;
