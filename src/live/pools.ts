/** NodePools and NodeClasses: lists, and the details of one object. */
import { type Conditioned, causesOf, type EC2NodeClassStatus, getCondition, type NodePool, READY } from '#api/objects';
import { unreadyText } from '#api/validation';
import { readableResources } from '#engine/model';
import { own, timeOf } from '#lib';
import { CLAIMS_BY_NODE_CLASS, CLAIMS_BY_NODE_POOL, type ClusterState } from '#state';
import type { LiveDecision } from './model.ts';
import type { LiveView } from './view.ts';

/** Maximum number of objects in a list. Further objects are only counted. */
const MOST_OBJECTS = 500;
/** Maximum number of resolved subnets, images and the like. */
const MOST_RESOLVED = 50;
/** Resources of a NodePool that are shown even if they have no limit. */
const ALWAYS = ['nodes', 'cpu', 'memory'];

export interface ObjectSources {
  readonly cluster: ClusterState;
  readonly view: LiveView;
  /** Returns the NodeClasses of the operator. */
  readonly nodeClasses: () => readonly NodeClass[];
}

/** A NodeClass, as far as the page shows it. Its user data may contain secrets and is not shown. */
export type NodeClass = Conditioned & { readonly status?: EC2NodeClassStatus };

/** Used amount and limit, in the resource's unit. The limit is absent if there is none. */
interface Usage {
  readonly resource: string;
  readonly used: number;
  readonly limit?: number;
}

interface PoolRow {
  readonly name: string;
  readonly ready: string;
  /** Reason if the object is not ready. */
  readonly problem: string;
  readonly nodeClass: string;
  readonly weight: number;
  /** Fixed number of nodes of a static NodePool. */
  readonly replicas?: number;
  readonly nodes: number;
  readonly usdPerHour: number;
  readonly usage: readonly Usage[];
}

interface List<Row> {
  readonly rows: readonly Row[];
  /** Number of objects that are not in the list. */
  readonly more: number;
}

const listOf = <T extends Conditioned, Row>(objects: readonly T[], rowOf: (object: T) => Row): List<Row> => ({
  rows: objects
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, MOST_OBJECTS)
    .map(rowOf),
  more: Math.max(0, objects.length - MOST_OBJECTS),
});

export const nodePoolList = (sources: ObjectSources): List<PoolRow> =>
  listOf(sources.cluster.stores.nodePools.list(), (pool) => poolRow(pool, sources));

const readiness = (object: Conditioned): { readonly ready: string; readonly problem: string } => {
  const ready = getCondition(object, READY);
  const causes = causesOf(object).map(({ type, message, reason }) => message || reason || type);
  const said = [...new Set(causes)].join('; ') || (ready?.message ?? '');
  return { ready: ready?.status ?? 'Unknown', problem: ready?.status === 'True' ? '' : said };
};

/** If the NodeClass keeps the NodePool from being ready, the problem is that of the NodeClass. */
function poolReadiness(pool: NodePool, nodeClasses: readonly NodeClass[]): ReturnType<typeof readiness> {
  const { kind, name } = pool.spec.template.spec.nodeClassRef;
  const nodeClass = nodeClasses.find((each) => each.kind === kind && each.metadata.name === name);
  const { ready, problem } = readiness(pool);
  return { ready, problem: ready === 'True' ? problem : unreadyText(pool, nodeClass) };
}

function poolRow(pool: NodePool, { cluster, view, nodeClasses }: ObjectSources): PoolRow {
  const { name } = pool.metadata;
  const { limits, weight = 0, replicas, template } = pool.spec;
  const claims = cluster.stores.nodeClaims.byIndex(CLAIMS_BY_NODE_POOL, name);
  const used = cluster.poolTotals(name);
  const most = readableResources(limits);
  const usage = [...new Set([...ALWAYS, ...Object.keys(most)])].map((resource): Usage => {
    const limit = own(most, resource);
    return { resource, used: own(used, resource) ?? 0, ...(limit === undefined ? {} : { limit }) };
  });
  const usd = claims.reduce((sum, { metadata }) => sum + (view.priceOf(metadata.name)?.usdPerHour ?? 0), 0);
  return {
    name,
    ...poolReadiness(pool, nodeClasses()),
    nodeClass: template.spec.nodeClassRef.name,
    weight,
    ...(replicas === undefined ? {} : { replicas }),
    nodes: own(used, 'nodes') ?? 0,
    usdPerHour: Number(usd.toFixed(6)),
    usage,
  };
}

interface PoolDetails extends PoolRow {
  readonly conditions: readonly ShownCondition[];
  /** Requirements of the nodes, as `key operator values`. */
  readonly requirements: readonly string[];
  readonly consolidation: string;
  readonly budgets: readonly string[];
  readonly decisions: readonly LiveDecision[];
}

export function nodePoolDetails(name: string, sources: ObjectSources): PoolDetails | undefined {
  const pool = sources.cluster.stores.nodePools.get({ name });
  if (pool === undefined) return undefined;
  const { template, disruption } = pool.spec;
  const { consolidationPolicy = 'WhenEmptyOrUnderutilized', consolidateAfter = '0s', budgets = [] } = disruption ?? {};
  return {
    ...poolRow(pool, sources),
    conditions: shownConditions(pool),
    requirements: template.spec.requirements.map(({ key, operator, values = [], minValues }) => {
      const least = minValues === undefined ? '' : ` (at least ${minValues} values)`;
      return `${key} ${operator} ${values.join(', ')}`.trim() + least;
    }),
    consolidation: `${consolidationPolicy}, after ${consolidateAfter}`,
    budgets: budgets.map(({ nodes, reasons, schedule, duration }) => {
      const when = schedule === undefined ? 'always' : `from ${schedule} UTC for ${duration}`;
      return `${nodes} of the nodes, ${when}${reasons === undefined ? '' : `, for ${reasons.join(', ')}`}`;
    }),
    decisions: sources.view.decisions.about(`NodePool/${name}`),
  };
}

interface ClassRow {
  readonly name: string;
  readonly kind: string;
  readonly ready: string;
  readonly problem: string;
  readonly nodePools: readonly string[];
  readonly nodes: number;
}

export const nodeClassList = (sources: ObjectSources): List<ClassRow> =>
  listOf(sources.nodeClasses(), (nodeClass) => classRow(nodeClass, sources));

const classRow = (nodeClass: NodeClass, { cluster: { stores } }: ObjectSources): ClassRow => ({
  name: nodeClass.metadata.name,
  kind: nodeClass.kind,
  ...readiness(nodeClass),
  nodePools: stores.nodePools
    .list()
    .filter(({ spec }) => spec.template.spec.nodeClassRef.name === nodeClass.metadata.name)
    .map(({ metadata }) => metadata.name)
    .sort(),
  nodes: stores.nodeClaims.byIndex(CLAIMS_BY_NODE_CLASS, nodeClass.metadata.name).length,
});

interface ClassDetails extends ClassRow {
  readonly conditions: readonly ShownCondition[];
  readonly resolved: readonly { readonly what: string; readonly items: readonly string[] }[];
  readonly decisions: readonly LiveDecision[];
}

export function nodeClassDetails(name: string, sources: ObjectSources): ClassDetails | undefined {
  const nodeClass = sources.nodeClasses().find(({ metadata }) => metadata.name === name);
  if (nodeClass === undefined) return undefined;
  const { subnets = [], securityGroups = [], amis = [], capacityReservations = [] } = nodeClass.status ?? {};
  const { instanceProfile } = nodeClass.status ?? {};
  const resolved: readonly (readonly [string, readonly string[]])[] = [
    ['Subnets', subnets.map(({ id, zone }) => `${id} in ${zone}`)],
    ['Security groups', securityGroups.map((group) => [group.id, group.name].filter(Boolean).join(' '))],
    ['Images', amis.map((image) => [image.id, image.name].filter(Boolean).join(' '))],
    ['Capacity reservations', capacityReservations.map(({ id, instanceType }) => `${id} ${instanceType}`)],
    ['Instance profile', instanceProfile === undefined ? [] : [instanceProfile]],
  ];
  return {
    ...classRow(nodeClass, sources),
    conditions: shownConditions(nodeClass),
    resolved: resolved.map(([what, items]) => ({ what, items: items.slice(0, MOST_RESOLVED) })),
    decisions: sources.view.decisions.about(`${nodeClass.kind}/${name}`),
  };
}

/** Conditions of an object, as the page shows them. */
export interface ShownCondition {
  readonly kind: string;
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
  /** Time of the last transition, in milliseconds since the epoch; 0 if it is unknown. */
  readonly sinceMs: number;
}

export const shownConditions = (object: Conditioned | undefined): readonly ShownCondition[] =>
  (object?.status?.conditions ?? []).map(({ type, status, reason = '', message = '', lastTransitionTime }) => ({
    kind: object?.kind ?? '',
    type,
    status,
    reason: reason === type ? '' : reason,
    message,
    sinceMs: timeOf(lastTransitionTime) || 0,
  }));
