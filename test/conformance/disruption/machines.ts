/** Nodes of a scenario, each with its NodeClaim. */
import type { KubeObject, Node, NodeClaim, NodePool } from '#api/objects';
import { amountOf, type Quantities } from '../rules.ts';
import type { TypeEntry } from '../validity.ts';
import { type OfferingEntry, zoneOf } from './catalogues.ts';
import type { Draw } from './draw.ts';
import type { Traits } from './kinds.ts';
import { ago } from './time.ts';

export const nodeClassRef = { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: 'default' };

/** Milli-cores, MiB and a number of pods. */
export interface Room {
  cpu: number;
  memory: number;
  pods: number;
}

/** Returns the labels that a type or an offering determines. */
export const labelsOf = ({ requirements }: Pick<TypeEntry, 'requirements'>): Readonly<Record<string, string>> =>
  Object.fromEntries(
    requirements.flatMap(({ key, operator, values = [] }) =>
      operator === 'In' && values.length === 1 ? [[key, values[0] ?? '']] : [],
    ),
  );

const withoutZone = ({ 'topology.kubernetes.io/zone': _, ...labels }: Readonly<Record<string, string>>) => labels;

interface MachineOptions {
  readonly draw: Draw;
  readonly traits: Traits;
  readonly pool: NodePool;
  readonly type: TypeEntry;
  readonly offering: OfferingEntry;
  readonly id: string;
  readonly state: string;
  readonly isKept: boolean;
}

/** A NodeClaim and its Node. */
export class Machine {
  readonly node: Node;
  readonly claim: NodeClaim;
  readonly room: Room;
  readonly #state: string;

  constructor(options: MachineOptions) {
    const { draw, pool, type, offering, id, state, isKept } = options;
    this.#state = state;
    const minutes = draw.int(1, 400) * 60;
    const isRegistered = state !== 'unregistered';
    const isInitialized = isRegistered && state !== 'uninitialised';
    const name = `node-${id}`;
    const providerID = `aws:///${zoneOf(offering)}/i-${id}`;
    const labels = {
      ...labelsOf(type),
      ...labelsOf(offering),
      'karpenter.sh/nodepool': pool.metadata.name,
      team: pool.metadata.name,
      'kubernetes.io/hostname': name,
      ...(isRegistered ? { 'karpenter.sh/registered': 'true' } : {}),
      ...(isInitialized ? { 'karpenter.sh/initialized': 'true' } : {}),
      ...(state === 'unknown' ? { 'node.kubernetes.io/instance-type': 'x9.gone' } : {}),
    };
    const capacity = type.capacity;
    const allocatable = allocatableOf(type);
    this.room = roomOf(allocatable);
    const annotations = isKept ? { 'karpenter.sh/do-not-disrupt': draw.pick(['true', 'true', '1h', 'false']) } : {};
    const { taints = [], terminationGracePeriod, expireAfter = '720h' } = pool.spec.template.spec;
    const going = state === 'deleting' ? { deletionTimestamp: ago(1), finalizers: ['karpenter.sh/termination'] } : {};
    this.claim = {
      apiVersion: 'karpenter.sh/v1',
      kind: 'NodeClaim',
      metadata: { name: `claim-${id}`, creationTimestamp: ago(minutes), labels, annotations, ...going },
      spec: {
        nodeClassRef,
        requirements: [],
        taints: [...taints],
        expireAfter,
        ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
      },
      status: {
        providerID,
        nodeName: name,
        capacity,
        allocatable,
        conditions: [...conditionsOf(options, minutes, { isRegistered, isInitialized })],
        ...(draw.chance(0.5) ? { lastPodEventTime: ago(draw.pick([0.4, 2, 5, 30])) } : {}),
      },
    };
    const unregistered = { key: 'karpenter.sh/unregistered', effect: 'NoExecute' as const };
    this.node = {
      apiVersion: 'v1',
      kind: 'Node',
      metadata: {
        ...{ name, creationTimestamp: ago(minutes), annotations },
        // a NodeClaim without its zone would be drifted
        labels: state === 'bare' ? withoutZone(labels) : labels,
      },
      spec: { providerID, taints: [...taints, ...(isRegistered ? [] : [unregistered])] },
      status: {
        capacity,
        allocatable,
        conditions: [{ type: 'Ready', status: state === 'unready' ? draw.pick(['False', 'Unknown']) : 'True' }],
      },
    };
  }

  objects(): readonly KubeObject[] {
    return this.#state === 'lone' ? [this.node] : [this.claim, this.node];
  }
}

function conditionsOf(
  { draw, traits, state }: MachineOptions,
  minutes: number,
  { isRegistered, isInitialized }: { readonly isRegistered: boolean; readonly isInitialized: boolean },
) {
  const is = (type: string, since: number, status: 'True' | 'False' = 'True') => ({
    type,
    status,
    reason: type,
    lastTransitionTime: ago(since),
  });
  const isQuiet = !draw.chance(traits.notConsolidatable);
  return [
    is('Launched', minutes - 1),
    ...(isRegistered ? [is('Registered', minutes - 1)] : []),
    ...(isInitialized ? [is('Initialized', draw.pick([minutes - 1, 5, 0.3]))] : []),
    ...(isInitialized ? [is('Consolidatable', draw.int(1, minutes), isQuiet ? 'True' : 'False')] : []),
    ...(draw.chance(traits.drifted) ? [is('Drifted', draw.int(1, 12) * 10)] : []),
    ...(state === 'terminating' ? [is('InstanceTerminating', 1)] : []),
  ];
}

function allocatableOf({ capacity, overhead = {} }: TypeEntry): Readonly<Record<string, string>> {
  const kept = (name: string): number =>
    Object.values(overhead).reduce((sum, list: Quantities | undefined) => sum + amountOf(list?.[name] ?? 0), 0);
  const left = (name: string): number => amountOf(capacity[name] ?? 0) - kept(name);
  return {
    ...Object.fromEntries(Object.entries(capacity).map(([name, amount]) => [name, String(amount)])),
    cpu: `${Math.round(1000 * left('cpu'))}m`,
    memory: `${Math.floor(left('memory') / 2 ** 20)}Mi`,
  };
}

const roomOf = (allocatable: Readonly<Record<string, string>>): Room => ({
  cpu: 1000 * amountOf(allocatable.cpu ?? 0),
  memory: amountOf(allocatable.memory ?? 0) / 2 ** 20,
  pods: amountOf(allocatable.pods ?? 0),
});
