/** NodePools and NodeClasses: lists, and the details of one object. */
import { type Conditioned, causesOf, getCondition, type NodePool, READY } from '#api/objects';
import { unreadyText } from '#api/validation';
import { readableResources } from '#engine/model';
import { own, timeOf } from '#lib';
import { CLAIMS_BY_NODE_CLASS, CLAIMS_BY_NODE_POOL, type ClusterState } from '#state';
import type {
  ClassResponse,
  ClassRow,
  PoolResponse,
  PoolRow,
  RowList,
  ShownCondition,
  ShownUsage,
} from './responses.ts';
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
  readonly nodeClasses: () => readonly Conditioned[];
  /** Returns the resources that a NodeClass has selected, with a heading for each list. */
  readonly selectionsOf: (nodeClass: Conditioned) => readonly (readonly [string, readonly string[]])[];
}

const listOf = <T extends Conditioned, Row>(objects: readonly T[], rowOf: (object: T) => Row): RowList<Row> => ({
  rows: objects
    .toSorted((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1))
    .slice(0, MOST_OBJECTS)
    .map(rowOf),
  more: Math.max(0, objects.length - MOST_OBJECTS),
});

export const nodePoolList = (sources: ObjectSources): RowList<PoolRow> =>
  listOf(sources.cluster.stores.nodePools.list(), (pool) => poolRow(pool, sources));

const readiness = (object: Conditioned): { readonly ready: string; readonly problem: string } => {
  const ready = getCondition(object, READY);
  const causes = causesOf(object).map(({ type, message, reason }) => message || reason || type);
  const said = [...new Set(causes)].join('; ') || (ready?.message ?? '');
  return { ready: ready?.status ?? 'Unknown', problem: ready?.status === 'True' ? '' : said };
};

/** If the NodeClass keeps the NodePool from being ready, the problem is that of the NodeClass. */
function poolReadiness(pool: NodePool, nodeClasses: readonly Conditioned[]): ReturnType<typeof readiness> {
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
  const usage = [...new Set([...ALWAYS, ...Object.keys(most)])].map((resource): ShownUsage => {
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

export function nodePoolDetails(name: string, sources: ObjectSources): PoolResponse | undefined {
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

export const nodeClassList = (sources: ObjectSources): RowList<ClassRow> =>
  listOf(sources.nodeClasses(), (nodeClass) => classRow(nodeClass, sources));

const classRow = (nodeClass: Conditioned, { cluster: { stores } }: ObjectSources): ClassRow => ({
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

export function nodeClassDetails(name: string, sources: ObjectSources): ClassResponse | undefined {
  const nodeClass = sources.nodeClasses().find(({ metadata }) => metadata.name === name);
  if (nodeClass === undefined) return undefined;
  return {
    ...classRow(nodeClass, sources),
    conditions: shownConditions(nodeClass),
    resolved: sources.selectionsOf(nodeClass).map(([what, items]) => ({ what, items: items.slice(0, MOST_RESOLVED) })),
    decisions: sources.view.decisions.about(`${nodeClass.kind}/${name}`),
  };
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
