/** Runs the engine over the pods of a cluster and the NodePools of a conversion: do they fit, on how many nodes, for how much. */
import type { EC2NodeClass } from '../../../api/ec2-nodeclass.ts';
import type { KubeObject, Pod } from '../../../api/kubernetes.ts';
import { CAPACITY_TYPE_LABEL, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, ZONE_LABEL } from '../../../api/labels.ts';
import { nodePrice } from '../../../engine/disruption/candidates/disruption-cost.ts';
import type { InstanceType } from '../../../engine/model.ts';
import { applied, type Manifest, readManifests } from '../../objects/read.ts';
import type { SimulationAnswer } from '../../render/plan.ts';
import { simulationText } from '../../render/simulation.ts';
import { counted, usdPerHour } from '../../render/table.ts';
import { simulateManifests } from '../../simulate.ts';

export interface ProofOptions {
  /** Files with nodes, pods and what goes with them, or `-`. */
  readonly pods: readonly string[];
  readonly instanceTypes?: string;
  /** The time at which it plays, milliseconds since the epoch. */
  readonly nowMs?: number;
}

export interface Cost {
  readonly nodes: number;
  /** Instances and their surplus CPU credits. */
  readonly usdPerHour: number;
}

export interface Proof {
  readonly before: Cost;
  readonly after: Cost;
  readonly simulation: SimulationAnswer;
  readonly notes: readonly string[];
}

/** @param objects NodePools and EC2NodeClasses of the conversion @throws InputError that names the document and the field */
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
  const { simulation, snapshot, notes } = await simulateManifests(applied(staying, made), options);
  const types = new Map(
    snapshot.pools.flatMap(({ instanceTypes }) => instanceTypes.map((type) => [type.name, type] as const)),
  );
  const pods = Map.groupBy(
    dump.flatMap(({ object }) => (object.kind === 'Pod' ? [object as Pod] : [])),
    ({ spec }) => spec?.nodeName,
  );
  const prices = leaving.map((node) => priceOf(node, pods.get(node.metadata.name) ?? [], types));
  const unpriced = leaving.filter((_, at) => prices[at] === 0).map(({ metadata }) => metadata.name);
  const surplus = simulation.nodeClaims.reduce((sum, { surplusCredits = 0 }) => sum + surplusCredits, 0);
  return {
    before: { nodes: leaving.length, usdPerHour: prices.reduce((sum, price) => sum + price, 0) },
    after: { nodes: simulation.nodeClaims.length, usdPerHour: simulation.totalPrice + surplus },
    simulation,
    notes: [
      ...notes,
      ...(leaving.length === 0
        ? ['there is no node of a group in the dump, so that there is nothing to compare with']
        : []),
      ...(unpriced.length === 0
        ? []
        : [`no price is known for ${counted(unpriced.length, 'node')}, such as ${unpriced[0]}`]),
      ...(dump.some(({ object }) => object.kind === 'DaemonSet')
        ? []
        : ['there are no DaemonSets in the dump, so that no room is left for their pods']),
    ],
  };
}

const isOfFargate = ({ metadata: { labels = {} } }: KubeObject): boolean =>
  labels['eks.amazonaws.com/compute-type'] === 'fargate';

/** Nodes of groups; not those that Fargate or Karpenter made. */
const isOfGroup = (object: KubeObject): boolean =>
  object.kind === 'Node' && !isOfFargate(object) && object.metadata.labels?.[NODEPOOL_LABEL] === undefined;

/** A node of Fargate is for one pod, which stays there. */
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

/** Pods of nodes that go are to be placed anew; those that a node or a DaemonSet runs go with it. */
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

/** The class has not been in a cluster yet: its subnets are taken to be where the nodes are. */
function inZones(nodeClass: EC2NodeClass, zones: readonly string[]): EC2NodeClass {
  if (zones.length === 0) return nodeClass;
  return { ...nodeClass, status: { subnets: zones.map((zone) => ({ id: `subnet-${zone}`, zone })) } };
}

/** How EKS, kOps and others mark spot nodes. */
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

/** For people. */
export function proofText({ before, after, simulation }: Proof): string {
  const line = (title: string, { nodes, usdPerHour: usd }: Cost): string =>
    `${title} ${counted(nodes, 'node')} for ${usdPerHour(usd)}`;
  return `${line('now:       ', before)}\n${line('afterwards:', after)}\n\n${simulationText(simulation)}`;
}
