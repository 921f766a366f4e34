/**
 * Simulates the pods of a cluster on the converted NodePools and reports whether they fit, the number of nodes, and
 * the cost.
 */
import {
  CAPACITY_TYPE_LABEL,
  type EC2NodeClass,
  INSTANCE_TYPE_LABEL,
  type KubeObject,
  NODEPOOL_LABEL,
  type Pod,
  ZONE_LABEL,
} from '#api/objects';
import { nodePrice } from '#engine/disruption';
import type { InstanceType } from '#engine/model';
import { applyManifests, type Manifest, readManifests } from '../../objects/read.ts';
import type { SimulationAnswer } from '../../render/plan.ts';
import { simulationText } from '../../render/simulation.ts';
import { counted, usdPerHour } from '../../render/table.ts';
import { simulateManifests } from '../../simulate.ts';

export interface ProofOptions {
  /** Files with nodes, pods and related objects, or `-`. */
  readonly pods: readonly string[];
  readonly instanceTypes?: string;
  /** Time of the simulation, in milliseconds since the epoch. */
  readonly nowMs?: number;
}

interface Cost {
  readonly nodes: number;
  /** Price of instances and of their surplus CPU credits. */
  readonly usdPerHour: number;
}

export interface Proof {
  readonly before: Cost;
  readonly after: Cost;
  readonly simulation: SimulationAnswer;
  readonly notes: readonly string[];
}

/**
 * @param objects converted NodePools and EC2NodeClasses
 * @throws InputError with the document and the field
 */
export async function prove(objects: readonly KubeObject[], options: ProofOptions): Promise<Proof> {
  const dump = readManifests(options.pods);
  const leaving = dump.map(({ object }) => object).filter(isOfGroup);
  const names = new Set(leaving.map(({ metadata }) => metadata.name));
  const staying = withoutFargate(dump).flatMap((manifest) => withoutNodes(manifest, names));
  const zones = [...new Set(leaving.flatMap(({ metadata }) => metadata.labels?.[ZONE_LABEL] ?? []))].sort();
  const made = objects.map((object) => ({
    object: object.kind === 'EC2NodeClass' ? inZones(object as EC2NodeClass, zones) : object,
    where: `converted ${object.kind} ${object.metadata.name}`,
  }));
  const { simulation, snapshot, notes } = await simulateManifests(applyManifests(staying, made), options);
  const types = new Map(
    snapshot.pools.flatMap(({ instanceTypes }) => instanceTypes.map((type) => [type.name, type] as const)),
  );
  const pods = Map.groupBy(
    dump.flatMap(({ object }) => (object.kind === 'Pod' ? [object as Pod] : [])),
    ({ spec }) => spec?.nodeName,
  );
  const prices = leaving.map((node) => priceOf(node, pods.get(node.metadata.name) ?? [], types));
  const unpriced = leaving.filter((_, at) => prices[at] === 0).map(({ metadata }) => metadata.name);
  const surplus = simulation.nodeClaims.reduce((sum, { planning }) => sum + (planning?.surplusCredits ?? 0), 0);
  return {
    before: { nodes: leaving.length, usdPerHour: prices.reduce((sum, price) => sum + price, 0) },
    after: { nodes: simulation.nodeClaims.length, usdPerHour: simulation.totalPrice + surplus },
    simulation,
    notes: [
      ...notes,
      ...(leaving.length === 0 ? ['the file contains no node of a group, so costs cannot be compared'] : []),
      ...(unpriced.length === 0
        ? []
        : [`the price of ${counted(unpriced.length, 'node')} is unknown, for example ${unpriced[0]}`]),
      ...(dump.some(({ object }) => object.kind === 'DaemonSet')
        ? []
        : ['the file contains no DaemonSets, so no resources are reserved for their pods']),
    ],
  };
}

const isOfFargate = ({ metadata: { labels = {} } }: KubeObject): boolean =>
  labels['eks.amazonaws.com/compute-type'] === 'fargate';

/** Returns true for nodes of groups, but not for nodes of Fargate or Karpenter. */
const isOfGroup = (object: KubeObject): boolean =>
  object.kind === 'Node' && !isOfFargate(object) && object.metadata.labels?.[NODEPOOL_LABEL] === undefined;

/** Removes each Fargate node and its pod, because the pod stays on Fargate. */
function withoutFargate(dump: readonly Manifest[]): readonly Manifest[] {
  const nodes = new Set(
    dump
      .filter(({ object }) => object.kind === 'Node' && isOfFargate(object))
      .map(({ object }) => object.metadata.name),
  );
  return dump.filter(({ object }) => {
    if (object.kind === 'Node') return !nodes.has(object.metadata.name);
    return object.kind !== 'Pod' || !nodes.has((object as Pod).spec.nodeName ?? '');
  });
}

/** Removes nodes that are replaced. Unbinds their pods, except static pods and DaemonSet pods, which are removed. */
function withoutNodes(manifest: Manifest, names: ReadonlySet<string>): readonly Manifest[] {
  const { object } = manifest;
  if (object.kind === 'Node' || object.kind === 'CSINode') return names.has(object.metadata.name) ? [] : [manifest];
  if (object.kind !== 'Pod') return [manifest];
  const { spec, status, ...pod } = object as Pod;
  if (!names.has(spec?.nodeName ?? '')) return [manifest];
  const owners = (pod.metadata.ownerReferences ?? []).map(({ kind }) => kind);
  const isOver = status?.phase === 'Succeeded' || status?.phase === 'Failed';
  if (isOver || owners.includes('Node') || owners.includes('DaemonSet')) return [];
  const { nodeName: _, ...rest } = spec;
  return [{ ...manifest, object: { ...pod, spec: rest } as Pod }];
}

/** Adds subnets in the zones of the nodes, because the new EC2NodeClass has no status yet. */
function inZones(nodeClass: EC2NodeClass, zones: readonly string[]): EC2NodeClass {
  if (zones.length === 0) return nodeClass;
  return { ...nodeClass, status: { subnets: zones.map((zone) => ({ id: `subnet-${zone}`, zone })) } };
}

/** Returns the price of a node. Recognizes spot nodes by the labels of EKS, kOps and others. */
function priceOf(
  { metadata: { labels = {} } }: KubeObject,
  pods: readonly Pod[],
  types: ReadonlyMap<string, InstanceType>,
): number {
  const isSpot =
    labels['eks.amazonaws.com/capacityType'] === 'SPOT' || /spot/i.test(labels['node.kubernetes.io/lifecycle'] ?? '');
  const own = { ...labels, [CAPACITY_TYPE_LABEL]: isSpot ? 'spot' : 'on-demand' };
  return nodePrice({ labels: own, pods }, types.get(labels[INSTANCE_TYPE_LABEL] ?? ''), 0);
}

/** Renders the result as text. */
export function proofText({ before, after, simulation }: Proof): string {
  const line = (title: string, { nodes, usdPerHour: usd }: Cost): string =>
    `${title} ${counted(nodes, 'node')} for ${usdPerHour(usd)} (instances and expected surplus CPU credits)`;
  return `${line('now:       ', before)}\n${line('afterwards:', after)}\n\n${simulationText(simulation)}`;
}
