/** NodeClaims that the operator would create for static NodePools of manifests. */
import { EC2_NODE_CLASS, INSTANCE_TYPE_LABEL, NODEPOOL_LABEL, type NodeClaim, type NodePool } from '#api/objects';
import { parseQuantity } from '#api/values';
import {
  allocatable,
  type InstanceType,
  idleMisfit,
  LOOSE,
  orderByPrice,
  preferredOffering,
  quantityList,
  type Requirements,
  requirementsOf,
  templateRequirements,
} from '#engine/model';
import { templateClaim } from '#engine/solve';
import { timestamp, tryRun } from '#lib';
import { counted } from '../render/table.ts';
import type { KnownGates } from './gated-kinds.ts';
import type { Manifest } from './read.ts';

interface StaticPool {
  readonly nodePool: NodePool;
  readonly instanceTypes: readonly InstanceType[];
  /** True if the NodePool is in a cluster without changes, so that the manifests also have its NodeClaims. */
  readonly isFromCluster: boolean;
}

interface StaticOptions {
  readonly nowMs: number;
  readonly featureGates?: KnownGates;
}

interface StaticClaims {
  readonly claims: readonly NodeClaim[];
  readonly notes: readonly string[];
}

/** Creates the missing NodeClaims of static NodePools, with their cheapest instance type. */
export function joiningStaticClaims(
  pools: readonly StaticPool[],
  manifests: readonly Manifest[],
  options: StaticOptions,
): StaticClaims {
  const found = pools.map((pool) => claimsOf(pool, manifests, options));
  return { claims: found.flatMap(({ claims }) => claims), notes: found.flatMap(({ notes }) => notes) };
}

const NONE: StaticClaims = { claims: [], notes: [] };

function claimsOf(
  { nodePool, instanceTypes, isFromCluster }: StaticPool,
  manifests: readonly Manifest[],
  { nowMs, featureGates = {} }: StaticOptions,
): StaticClaims {
  const { name } = nodePool.metadata;
  const { replicas } = nodePool.spec;
  if (replicas === undefined || nodePool.metadata.deletionTimestamp !== undefined) return NONE;
  if (idleMisfit(nodePool, undefined)?.code !== 'static') return NONE;
  const countOf = (kind: string): number =>
    manifests.filter(({ object }) => object.kind === kind && object.metadata.labels?.[NODEPOOL_LABEL] === name).length;
  const present = Math.max(countOf('NodeClaim'), countOf('Node'));
  const missing = Math.min(replicas, nodeLimit(nodePool)) - present;
  if (missing <= 0) return NONE;
  const nodes = counted(missing, 'static node');
  const uncounted = (why: string): StaticClaims => ({
    claims: [],
    notes: [`NodePool ${name}: ${nodes} ${missing === 1 ? 'does' : 'do'} not count: ${why}`],
  });
  if (isFromCluster) return uncounted('the manifests contain no NodeClaim');
  if (featureGates.StaticCapacity === false) return uncounted('the feature gate StaticCapacity is disabled');
  const choice = chosen(nodePool, instanceTypes);
  if (choice === undefined) return uncounted('no instance type is available');
  const claims = Array.from({ length: missing }, (_, index) =>
    claimOf(nodePool, choice, { name: `${name}-static-${present + index + 1}`, nowMs }),
  );
  const text = `${nodes} (${choice.type.name}) ${missing === 1 ? 'counts as a node that joins' : 'count as nodes that join'}`;
  return { claims, notes: [`NodePool ${name}: ${text}, whose price is not part of the total`] };
}

const nodeLimit = ({ spec }: NodePool): number =>
  tryRun(() => parseQuantity(spec.limits?.nodes ?? 'none')) ?? Number.POSITIVE_INFINITY;

interface Choice {
  readonly type: InstanceType;
  readonly requirements: Requirements;
}

function chosen(nodePool: NodePool, types: readonly InstanceType[]): Choice | undefined {
  const requirements = templateRequirements(nodePool);
  const fitting = types.filter(
    (type) =>
      requirements.compatible(requirementsOf(type), LOOSE) && preferredOffering(type, requirements) !== undefined,
  );
  const [type] = orderByPrice(fitting, requirements);
  return type && { type, requirements };
}

function claimOf(
  nodePool: NodePool,
  { type, requirements }: Choice,
  { name, nowMs }: { readonly name: string; readonly nowMs: number },
): NodeClaim {
  const { labels, annotations } = templateClaim(nodePool);
  const offering = preferredOffering(type, requirements);
  const fixed = [requirementsOf(type), ...(offering ? [requirementsOf(offering)] : [])].flatMap((own) =>
    [...own.entries()].flatMap(([key, { values, complement }]) => {
      const [value, ...others] = [...values];
      return complement || value === undefined || others.length > 0 ? [] : [[key, value] as const];
    }),
  );
  const { spec } = nodePool.spec.template;
  return {
    apiVersion: 'karpenter.sh/v1',
    kind: 'NodeClaim',
    metadata: {
      name,
      uid: name,
      creationTimestamp: timestamp(nowMs),
      labels: { ...Object.fromEntries(fixed), ...labels, [INSTANCE_TYPE_LABEL]: type.name },
      annotations,
    },
    spec: {
      nodeClassRef: { ...spec.nodeClassRef, group: EC2_NODE_CLASS.group },
      requirements: requirements.toApi(),
      ...(spec.taints && { taints: spec.taints }),
      ...(spec.startupTaints && { startupTaints: spec.startupTaints }),
      expireAfter: spec.expireAfter,
    },
    status: {
      providerID: `static:///${name}`,
      capacity: quantityList(type.capacity),
      allocatable: quantityList(allocatable(type, offering)),
      conditions: [
        { type: 'Launched', status: 'True', reason: 'Launched', message: '', lastTransitionTime: timestamp(nowMs) },
      ],
    },
  } as NodeClaim;
}
