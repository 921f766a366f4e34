/**
 * Builds NodePools and EC2NodeClasses for groups. Groups that differ only in their zones share one NodePool, and
 * equal classes are merged.
 */
import { type EC2NodeClass, INSTANCE_TYPE_LABEL, type NodePool, ZONE_LABEL } from '#api/objects';
import { counted } from '../../render/table.ts';
import { ROLE_PLACEHOLDER } from '../nodeclass.ts';
import { instanceSize } from './common.ts';
import { DISRUPTION, LIMITS, type NodeGroup } from './node-group.ts';

interface PoolOfGroups {
  readonly nodePool: NodePool;
  readonly groups: readonly NodeGroup[];
}

interface ClassOfGroups {
  readonly nodeClass: EC2NodeClass;
  readonly groups: readonly NodeGroup[];
}

export interface Converted {
  readonly pools: readonly PoolOfGroups[];
  readonly classes: readonly ClassOfGroups[];
}

/** Returns a key that is equal for groups that can share one NodePool. */
const likeness = (group: NodeGroup): string => {
  const { subnetSelectorTerms: _, ...nodeClass } = group.nodeClass;
  const requirements = [...group.requirements.values()].map((one) => JSON.stringify(one)).sort();
  const { labels, taints, startupTaints, weight, disruption, expireAfter } = group;
  return JSON.stringify([
    Object.entries(labels).sort(),
    taints,
    startupTaints,
    weight,
    disruption,
    expireAfter,
    requirements,
    nodeClass,
  ]);
};

/** @param role role of the nodes if the input contains none */
export function nodePoolsOf(groups: readonly NodeGroup[], { role }: { readonly role?: string } = {}): Converted {
  const names = new Names();
  const merged = [...Map.groupBy(groups, likeness).values()].map((alike) => {
    const name = names.free(alike.length > 1 ? commonName(alike) : (alike[0]?.name ?? ''));
    noteMinimum(alike);
    if (alike.length > 1) noteMerged(alike, name);
    return { name, alike, spec: classSpec(alike, role) };
  });
  const byClass = [...Map.groupBy(merged, ({ spec }) => JSON.stringify(spec)).values()];
  const classNames = new Map<string, string>();
  const classes = byClass.map((own) => {
    const [first] = own;
    const name = byClass.length === 1 && merged.length > 1 ? 'default' : (first?.name ?? 'default');
    for (const each of own) classNames.set(each.name, name);
    const nodeClass: EC2NodeClass = {
      apiVersion: 'karpenter.k8s.aws/v1',
      kind: 'EC2NodeClass',
      metadata: { name },
      spec: first?.spec as EC2NodeClass['spec'],
    };
    return { nodeClass, groups: own.flatMap(({ alike }) => alike) };
  });
  const pools = merged.map(({ name, alike }) => ({
    groups: alike,
    nodePool: poolOf(name, alike, classNames.get(name) ?? name),
  }));
  return { pools, classes };
}

/** Adds a note about the total minimum size of groups that share one NodePool. */
function noteMinimum(groups: readonly NodeGroup[]): void {
  const [first] = groups.filter(({ size }) => size.min !== undefined);
  if (first?.size.min === undefined) return;
  const nodes = groups.reduce((sum, { size }) => sum + (size.min?.nodes ?? 0), 0);
  first.onPool(
    'lost',
    first.size.min.field,
    `at least ${counted(nodes, 'node')}: a NodePool has as many nodes as its pods need, and no nodes without pods; a CapacityBuffer, or a ` +
      `NodePool with replicas: ${nodes}, keeps nodes without pods (feature gates CapacityBuffer, StaticCapacity)`,
    LIMITS,
  );
}

function noteMerged(groups: readonly NodeGroup[], name: string): void {
  const names = groups.map((group) => group.name).join(', ');
  for (const group of groups.slice(0, 1))
    group.onPool('changed', [], `NodePool ${name} replaces ${names}, which differ only in zones or size`);
}

function classSpec(groups: readonly NodeGroup[], role: string | undefined): EC2NodeClass['spec'] {
  const [first] = groups;
  const terms = new Map(
    groups.flatMap(({ nodeClass }) =>
      (nodeClass.subnetSelectorTerms ?? []).map((term) => [JSON.stringify(term), term]),
    ),
  );
  const given = first?.nodeClass ?? {};
  const own = given.role === ROLE_PLACEHOLDER && role !== undefined ? role : given.role;
  return {
    ...given,
    ...(own === undefined ? {} : { role: own }),
    amiSelectorTerms: given.amiSelectorTerms ?? [{ alias: 'al2023@latest' }],
    subnetSelectorTerms: [...terms.values()],
    securityGroupSelectorTerms: given.securityGroupSelectorTerms ?? [],
  } as EC2NodeClass['spec'];
}

function poolOf(name: string, groups: readonly NodeGroup[], className: string): NodePool {
  const [first] = groups;
  const {
    labels = {},
    taints = [],
    startupTaints = [],
    weight,
    disruption,
    expireAfter,
    terminationGracePeriod,
  } = first ?? {};
  const zones = [...new Set(groups.flatMap((group) => group.zones))].sort();
  const isZoned = groups.every((group) => group.zones.length > 0);
  const requirements = [
    ...(first?.requirements.values() ?? []),
    ...(isZoned ? [{ key: ZONE_LABEL, operator: 'In' as const, values: zones }] : []),
  ];
  const limits = limitsOf(groups);
  remarkAlways(first, limits);
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodePool',
    metadata: { name },
    spec: {
      template: {
        ...(Object.keys(labels).length === 0 ? {} : { metadata: { labels } }),
        spec: {
          nodeClassRef: { group: 'karpenter.k8s.aws', kind: 'EC2NodeClass', name: className },
          requirements,
          ...(taints.length === 0 ? {} : { taints }),
          ...(startupTaints.length === 0 ? {} : { startupTaints }),
          expireAfter,
          ...(terminationGracePeriod === undefined ? {} : { terminationGracePeriod }),
        },
      },
      disruption,
      ...(limits === undefined ? {} : { limits }),
      ...(weight === undefined ? {} : { weight }),
    },
  } as NodePool;
}

function remarkAlways(group: NodeGroup | undefined, limits: Readonly<Record<string, string>> | undefined): void {
  if (group === undefined) return;
  if (limits !== undefined)
    group.onPool('assumed', [], 'resources of the maximum number of nodes of the largest type', LIMITS);
  if (group.expireAfter === 'Never')
    group.onPool('assumed', [], 'groups do not replace nodes by age; the default of 720h keeps nodes up to date', [
      ...['spec', 'template', 'spec', 'expireAfter'],
    ]);
  if (group.disruption.consolidateAfter === '10m')
    group.onPool(
      'assumed',
      [],
      'time for which cluster-autoscaler waits by default before it removes an unneeded node',
      [...DISRUPTION, 'consolidateAfter'],
    );
}

/** Returns the CPU and memory of the maximum number of nodes, or undefined if a group has no maximum. */
function limitsOf(groups: readonly NodeGroup[]): Readonly<Record<string, string>> | undefined {
  let [cpus, memoryGi, nodes] = [0, 0, 0];
  for (const { size, requirements } of groups) {
    if (size.max === undefined) return undefined;
    const sizes = (requirements.get(INSTANCE_TYPE_LABEL)?.values ?? []).map(instanceSize);
    const known = sizes.filter((each) => each !== undefined);
    nodes += size.max;
    cpus += size.max * Math.max(0, ...known.map((each) => each.cpus));
    memoryGi += (size.max * Math.max(0, ...known.map((each) => each.memoryMi))) / 1024;
    if (known.length === 0 || known.length < sizes.length) cpus = Number.NaN;
  }
  return Number.isNaN(cpus) ? { nodes: String(nodes) } : { cpu: String(cpus), memory: `${Math.ceil(memoryGi)}Gi` };
}

const MOST_LETTERS = 63;

/** Unique names that are valid in Kubernetes. */
class Names {
  readonly #taken = new Set<string>();

  free(wanted: string): string {
    const plain = wanted
      .toLowerCase()
      .replace(/[^a-z0-9-]+/g, '-')
      .slice(0, MOST_LETTERS - 4)
      .replace(/^-+/, '')
      .split('-')
      .filter((part) => part !== '')
      .join('-');
    const base = plain === '' ? 'default' : plain;
    let name = base;
    for (let number = 2; this.#taken.has(name); number++) name = `${base}-${number}`;
    this.#taken.add(name);
    return name;
  }
}

const SHORTEST = 3;

/** Returns the common prefix of the names, or the first name if the prefix is too short. */
function commonName(groups: readonly NodeGroup[]): string {
  const [first = '', ...others] = groups.map(({ name }) => name);
  let length = first.length;
  for (const other of others) while (!other.startsWith(first.slice(0, length))) length--;
  const parts = first.slice(0, length).split(/[-_.]/);
  // a part that the names share only partly contains the zone
  const whole =
    others.every((other) => /^([-_.]|$)/.test(other.slice(length))) && /^([-_.]|$)/.test(first.slice(length));
  const name = (whole ? parts : parts.slice(0, -1)).join('-');
  return name.length < SHORTEST ? first : name;
}
