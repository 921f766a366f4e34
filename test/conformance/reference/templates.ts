/**
 * Launchable nodes of NodePools: instance types grouped by the daemon pods on them, and the domains of topology keys.
 */

import { type NodePool, type Pod, type Taint, type Toleration, WELL_KNOWN_LABELS } from '#api/objects';
import {
  type InstanceType,
  type Offering,
  type PoolInput,
  podRequests,
  type Requirement,
  type Resources,
  resourcesOf,
  type StateNode,
} from '#engine/model';
import {
  fits,
  type HostPort,
  hostPorts,
  isAdmitted,
  portsClash,
  requiredTerms,
  sum,
  toleratesAll,
  toleratingPreferences,
} from './pods.ts';
import {
  alternativesOf,
  and,
  compatible,
  intersects,
  labelRequirements,
  type OpenKeys,
  oneOf,
  type Requirements,
  requirementsOf,
  valuesAt,
} from './requirements.ts';

export const OPEN: OpenKeys = WELL_KNOWN_LABELS;
export const CLOSED: OpenKeys = new Set();

/** Placeholder labels that a node will have. They are not requirements of the NodeClaim. */
export const SIMULATED = ['karpenter.sh/registered', 'karpenter.sh/initialized'];

/** Cache of parsed requirements. Lists never change, and each is read thousands of times. */
const read = new WeakMap<readonly Requirement[], Requirements>();

function fixedRequirements(list: readonly Requirement[]): Requirements {
  const known = read.get(list) ?? requirementsOf(list);
  read.set(list, known);
  return known;
}

export const typeRequirements = (type: InstanceType): Requirements => fixedRequirements(type.requirements);

/** Returns the allocatable resources. Huge pages reduce the available memory. */
function allocatable({ capacity, overhead }: InstanceType): Resources {
  const reserved = sum(overhead.kubeReserved, overhead.systemReserved, overhead.evictionThreshold);
  const free: Record<string, number> = {};
  let hugePages = 0;
  for (const [name, amount] of Object.entries(capacity)) {
    free[name] = amount - (reserved[name] ?? 0);
    if (name.startsWith('hugepages-')) hugePages += amount;
  }
  return hugePages > 0 ? { ...free, memory: Math.max(0, (free.memory ?? 0) - hugePages) } : free;
}

export const offered = (type: InstanceType, requirements: Requirements): readonly Offering[] =>
  type.offerings.filter(
    (each) => each.available && compatible(requirements, fixedRequirements(each.requirements), OPEN),
  );

/** Returns keys for which the types have too few values, with the number of their values. */
export const tooFewValues = (types: Iterable<InstanceType>, requirements: Requirements) =>
  [...requirements].flatMap(([key, { minValues }]) => {
    const found = new Set([...types].flatMap((type) => [...valuesAt(typeRequirements(type), key).listed]));
    return found.size < minValues ? [{ key, found: found.size }] : [];
  });

export class Daemon {
  readonly requests: Resources;
  readonly ports: readonly HostPort[];
  readonly #pod: Pod;
  readonly #alternatives: readonly Requirements[];

  constructor(pod: Pod) {
    this.requests = podRequests(pod);
    this.ports = hostPorts(pod);
    this.#pod = toleratingPreferences(pod) ?? pod;
    // Decision 17, "DaemonSets with several required node affinity terms": all terms count, for each type and each
    // node.
    this.#alternatives = alternativesOf(pod.spec.nodeSelector, requiredTerms(pod));
  }

  runsOn(place: Requirements, taints: readonly Taint[], open: OpenKeys, type: Requirements = new Map()): boolean {
    return (
      toleratesAll(this.#pod.spec, taints) &&
      this.#alternatives.some((each) => compatible(place, each, open) && intersects(type, each))
    );
  }
}

/** Instance types with the same daemons. */
export interface DaemonGroup {
  readonly types: readonly InstanceType[];
  readonly overhead: Resources;
  readonly ports: readonly HostPort[];
}

/** Returns the types that match these requirements and fit these pods. */
export function remainingTypes(
  requirements: Requirements,
  requests: Resources,
  groups: readonly DaemonGroup[],
  ports: readonly HostPort[],
): readonly InstanceType[] {
  return groups
    .filter((group) => !portsClash(ports, group.ports))
    .flatMap(({ types, overhead }) =>
      types.filter(
        (type) =>
          intersects(typeRequirements(type), requirements) &&
          offered(type, requirements).length > 0 &&
          fits(sum(requests, overhead), allocatable(type)),
      ),
    );
}

export interface Template {
  readonly name: string;
  readonly requirements: Requirements;
  readonly taints: readonly Taint[];
  readonly groups: readonly DaemonGroup[];
  /** Remaining limits by resource. Each new NodeClaim reduces them by its largest type. */
  readonly remaining: Map<string, number>;
}

const taintsOf = ({ spec }: NodePool): readonly Taint[] => spec.template.spec.taints ?? [];

function templateRequirements({ metadata, spec }: NodePool): Requirements {
  const { group, kind, name } = spec.template.spec.nodeClassRef;
  const labels = {
    ...spec.template.metadata?.labels,
    'karpenter.sh/nodepool': metadata.name,
    [`${group}/${kind.toLowerCase()}`]: name,
  };
  const simulated = Object.fromEntries(SIMULATED.map((key) => [key, 'true']));
  return and(requirementsOf(spec.template.spec.requirements), labelRequirements({ ...labels, ...simulated }));
}

function daemonGroups(
  types: readonly InstanceType[],
  runsOn: (daemon: Daemon, type: InstanceType) => boolean,
  daemons: readonly Daemon[],
): readonly DaemonGroup[] {
  const running = (type: InstanceType) => daemons.filter((daemon) => runsOn(daemon, type));
  const byDaemons = Map.groupBy(types, (type) =>
    running(type)
      .map((daemon) => daemons.indexOf(daemon))
      .join(),
  );
  return [...byDaemons.values()].map((alike) => {
    const own = alike[0] ? running(alike[0]) : [];
    return {
      types: alike,
      overhead: sum(...own.map(({ requests }) => requests)),
      ports: own.flatMap(({ ports }) => ports),
    };
  });
}

function remainingOf(pool: NodePool, nodes: readonly StateNode[]): Map<string, number> {
  const own = nodes.filter(({ labels }) => labels['karpenter.sh/nodepool'] === pool.metadata.name);
  const used = sum(...own.map(({ capacity }) => ({ ...capacity, nodes: 1 })));
  const limits = Object.entries(resourcesOf(pool.spec.limits ?? {}));
  return new Map(limits.map(([name, limit]) => [name, limit - (used[name] ?? 0)]));
}

/** Sorts by descending weight. For equal weights, the last name comes first. */
export const inOrder = (pools: readonly PoolInput[]): readonly PoolInput[] =>
  pools.toSorted(
    ({ nodePool: a }, { nodePool: b }) =>
      (b.spec.weight ?? 0) - (a.spec.weight ?? 0) || (a.metadata.name < b.metadata.name ? 1 : -1),
  );

export interface TemplateParts {
  readonly daemons: readonly Daemon[];
  readonly nodes: readonly StateNode[];
  readonly minValuesAreStrict: boolean;
}

/** Returns undefined if no type of the pool remains. */
export function templateOf({ nodePool, instanceTypes }: PoolInput, parts: TemplateParts): Template | undefined {
  const requirements = templateRequirements(nodePool);
  const types = remainingTypes(requirements, {}, [{ types: instanceTypes, overhead: {}, ports: [] }], []);
  if (types.length === 0) return undefined;
  if (parts.minValuesAreStrict && tooFewValues(types, requirements).length > 0) return undefined;
  const taints = taintsOf(nodePool);
  const runsOn = (daemon: Daemon, type: InstanceType) =>
    daemon.runsOn(requirements, taints, OPEN, typeRequirements(type));
  return {
    name: nodePool.metadata.name,
    requirements,
    taints,
    groups: daemonGroups(types, runsOn, parts.daemons),
    remaining: remainingOf(nodePool, parts.nodes),
  };
}

/** Selects nodes. A missing part selects all nodes. */
export interface NodeFilter {
  readonly alternatives: readonly Requirements[] | undefined;
  readonly tolerations: readonly Toleration[] | undefined;
}

/** New nodes that count for a rule. Without requests, room does not matter. */
export interface Reach extends NodeFilter {
  readonly requests: Resources | undefined;
}

const isLarge = (type: InstanceType, requests: Resources): boolean =>
  Object.entries(requests).every(([name, amount]) => amount <= (allocatable(type)[name] ?? amount));

/** Decision 17, "Values that a NodePool excludes": only values that new nodes can have are domains. */
function domainsOfPool(
  { nodePool, instanceTypes }: PoolInput,
  key: string,
  required: Requirements,
  requests: Resources = {},
): readonly string[] {
  const template = templateRequirements(nodePool);
  if (!compatible(template, required, OPEN)) return [];
  const { metadata, spec } = nodePool.spec.template;
  const narrowed = and(template, required);
  const own = and(requirementsOf(spec.requirements), labelRequirements(metadata?.labels), required);
  const isOffered = (value: string): boolean =>
    instanceTypes.some((type) => {
      const place = and(narrowed, new Map([[key, oneOf([value])]]));
      return (
        intersects(typeRequirements(type), place) &&
        isLarge(type, requests) &&
        type.offerings.some((each) => compatible(place, fixedRequirements(each.requirements), OPEN))
      );
    });
  const places = instanceTypes.map((type) => and(own, typeRequirements(type)));
  const values = (places.length === 0 ? [] : [...places, own]).flatMap((requirements) => {
    const { isComplement, listed } = valuesAt(requirements, key);
    return isComplement ? [] : [...listed];
  });
  return [...new Set(values)].filter(isOffered);
}

/** Returns the values of a key on the new nodes that count. If the pod is too large for all of them, its size does not count. */
export function domainsOf(pools: readonly PoolInput[], key: string, reach: Reach): readonly string[] {
  const { alternatives = [new Map()], tolerations, requests } = reach;
  const found = pools
    .filter(({ nodePool }) => tolerations === undefined || isAdmitted({ tolerations }, taintsOf(nodePool)))
    .flatMap((pool) => alternatives.flatMap((required) => domainsOfPool(pool, key, required, requests)));
  return found.length > 0 || requests === undefined ? found : domainsOf(pools, key, { ...reach, requests: undefined });
}

/** Reports whether the limits allow at least one type. */
export const canLaunch = ({ groups, remaining }: Template): boolean =>
  remaining.get('nodes') !== 0 &&
  groups.some(({ types }) =>
    types.some(({ capacity }) => [...remaining].every(([name, amount]) => (capacity[name] ?? 0) <= amount)),
  );
