/**
 * Price and number of nodes relative to Karpenter's packing, for a fee of 0 and for the default fee: for the recorded
 * scheduling cases, and for the local catalogue, whose prices are nearly linear in size.
 */
import type { KubeObject } from '#api/objects';
import { DEFAULT_NODE_HOURLY_FEE } from '#api/values';
import { builtInTypes, worldOf } from '#cli/testing';
import { pseudoRandom, type Snapshot, type SolveOptions } from '#engine/model';
import { solve } from '#engine/solve';
import { lowerBound } from './bound.ts';
import { type BurstableLine, burstableLines } from './burstable.ts';
import { priceOf, recordedScenarios, type Scenario } from './recorded.ts';

const CATALOGUE_SCENARIOS = 20;
const NOW_MS = 0;

interface NodeCostLine {
  readonly scenarios: string;
  readonly way: string;
  readonly pods: number;
  readonly nodes: number;
  /** Price of instances only, in USD per hour. */
  readonly usdInstances: number;
  readonly timesNodes: number;
  readonly timesPrice: number;
  /** Set if the linear-programming bound can be computed. */
  readonly overLeast?: number;
}

const WAYS = [
  { way: 'compatible', fee: 0, packing: 'compatible' },
  { way: 'fee 0', fee: 0, packing: 'cheapest' },
  { way: `default fee, $${DEFAULT_NODE_HOURLY_FEE}`, fee: DEFAULT_NODE_HOURLY_FEE, packing: 'cheapest' },
  { way: 'fee $0.05', fee: 0.05, packing: 'cheapest' },
] as const;

export async function* nodeCostLines(options: SolveOptions): AsyncGenerator<NodeCostLine | BurstableLine> {
  yield* linesOf('recorded, plain', recordedScenarios('-plain'), options, lowerBound);
  yield* linesOf('recorded, all', recordedScenarios(), options);
  yield* linesOf("the local world's catalogue", catalogueScenarios(), options, lowerBound);
  yield* burstableLines(options);
}

async function* linesOf(
  scenarios: string,
  all: readonly Scenario[],
  options: SolveOptions,
  bound?: (snapshot: Snapshot) => Promise<number>,
): AsyncGenerator<NodeCostLine> {
  let least = 0;
  for (const { snapshot } of bound === undefined ? [] : all) least += (await bound?.(await snapshot(0))) ?? 0;
  let first: { readonly nodes: number; readonly usd: number } | undefined;
  for (const { way, fee, packing } of WAYS) {
    let [pods, nodes, usd] = [0, 0, 0];
    for (const { snapshot } of all) {
      const input = await snapshot(fee);
      const plan = solve(input, { ...options, packing });
      pods += input.pendingPods.length;
      nodes += plan.claims.length;
      usd += priceOf(plan);
    }
    first ??= { nodes, usd };
    yield {
      ...{ scenarios, way, pods, nodes },
      usdInstances: rounded(usd),
      timesNodes: rounded(nodes / first.nodes),
      timesPrice: rounded(usd / first.usd),
      ...(bound !== undefined && { overLeast: rounded(usd / least) }),
    };
  }
}

const rounded = (value: number): number => Number(value.toFixed(3));

type WithSpec = KubeObject & { readonly spec: object };

const POOL: WithSpec = {
  apiVersion: 'karpenter.sh/v1',
  kind: 'NodePool',
  metadata: { name: 'default' },
  spec: {
    template: {
      spec: {
        nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' },
        requirements: [{ key: 'karpenter.sh/capacity-type', operator: 'In', values: ['on-demand'] }],
      },
    },
  },
};

/** Three to eight Deployments of up to 25 pods, with the sizes of the recorded cases. */
function catalogueScenarios(): readonly Scenario[] {
  return Array.from({ length: CATALOGUE_SCENARIOS }, (_, seed) => {
    const random = pseudoRandom(seed + 1);
    const below = (count: number): number => Math.floor(random() * count);
    const one = (values: readonly string[]): string => values[below(values.length)] ?? '';
    const deployments = Array.from({ length: 3 + below(6) }, (__, at) => {
      const cpu = one(['100m', '250m', '500m', '1', '1500m', '2', '3500m']);
      const memory = one(['128Mi', '256Mi', '512Mi', '1Gi', '2Gi', '4Gi', '7Gi']);
      return deployment(`app-${at}`, 1 + below(25), { cpu, memory });
    });
    const manifests = [POOL, ...deployments].map((object) => ({ object, where: object.metadata.name }));
    const types = builtInTypes(manifests, NOW_MS);
    return {
      name: `catalogue ${seed}`,
      snapshot: async (nodeHourlyFee) =>
        (await worldOf(manifests, { instanceTypes: types, nowMs: NOW_MS, settings: { nodeHourlyFee } })).snapshot,
    };
  });
}

const deployment = (name: string, replicas: number, requests: Readonly<Record<string, string>>): WithSpec => ({
  apiVersion: 'apps/v1',
  kind: 'Deployment',
  metadata: { name, namespace: 'default' },
  spec: {
    replicas,
    selector: { matchLabels: { app: name } },
    template: {
      metadata: { labels: { app: name } },
      spec: { containers: [{ name: 'app', resources: { requests } }] },
    },
  },
});
