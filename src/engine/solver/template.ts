/** Compiles NodePools to templates with the initial state of their claims. */

import { nodePoolHash } from '#api/hashes';
import { HOSTNAME_LABEL, type NodePool } from '#api/objects';
import { remembering, sameItems } from '#lib';
import { compareText, type MinValuesResult, satisfiesMinValues } from '../instance-types.ts';
import { type LeftOuts, leftOutName } from '../left-out.ts';
import type { EngineNode, EngineSnapshot, IdlePool, InstanceType, Misfit, Plan, PoolInput } from '../model.ts';
import { chargesUsdPerHour, claimExtras, extrasUsdPerHour } from '../node-extras.ts';
import { templateRequirements } from '../node-template.ts';
import type { Requirements } from '../requirements.ts';
import { ValueSet } from '../value-set.ts';
import { Choices } from './choice.ts';
import type { CompiledPool } from './compiled-pool.ts';
import { compiledTypesOf } from './compiled-types-cache.ts';
import { type Daemon, daemonGroups, demandsOnNodes } from './daemons.ts';
import type { Dimensions } from './dimensions.ts';
import { PoolLimits, SharedLimits } from './limits.ts';
import { Shapes } from './shape.ts';
import { SurplusPrices } from './surplus-prices.ts';

/** NodePool in one solve. */
export interface Template extends CompiledPool {
  readonly limits: PoolLimits;
  /** Returns the limits before the first launch of this solve. */
  readonly freshLimits: () => PoolLimits;
}

export function templateOf(pool: CompiledPool, nodes: Iterable<EngineNode>, shared: SharedLimits): Template {
  const freshLimits = (): PoolLimits => new PoolLimits(pool, nodes, shared.fresh());
  return { ...pool, limits: new PoolLimits(pool, nodes, shared), freshLimits };
}

/** Hostname of a node that will be launched. No pod can require this name, and every pod can exclude some other name. */
const NO_HOST = ValueSet.in(['hostname-placeholder']);

/** Sorts NodePools by weight, highest first. Ties are sorted by name, descending. */
function inOrder(pools: readonly PoolInput[]): readonly PoolInput[] {
  return [...pools].sort(
    (a, b) =>
      (b.nodePool.spec.weight ?? 0) - (a.nodePool.spec.weight ?? 0) ||
      compareText(b.nodePool.metadata.name, a.nodePool.metadata.name),
  );
}

export interface TemplateOptions {
  readonly dimensions: Dimensions;
  readonly daemons: readonly Daemon[];
  readonly strictMinValues: boolean;
  /** True if offerings that use a capacity reservation can be launched. */
  readonly sellsReserved: boolean;
  readonly leftOuts: LeftOuts;
}

interface Templates {
  /** Templates in order of trial. */
  readonly templates: readonly CompiledPool[];
  readonly emptyPools: Plan['emptyPools'];
  /** Reason why each of the remaining NodePools takes no part. */
  readonly idle: readonly IdlePool[];
}

/** Templates that were compiled for an earlier snapshot. */
interface Kept {
  readonly asked: readonly unknown[];
  readonly templates: Templates;
  /** Returns the number of requirements that have been compiled for the templates. */
  readonly shapeCount: () => number;
  uses: number;
}

/** Cached templates by the instance types of the first NodePool, because many snapshots have the same NodePools. */
const kept = new WeakMap<readonly InstanceType[], Kept>();
/** Limits for the use of templates. Templates cache results of solves, so they are replaced before the cache can grow large. */
const MOST_USES = 200;
const MOST_SHAPES = 5_000;

/** Returns the templates, and the NodePools that have no instance type left or are not valid. */
export function compileTemplates(snapshot: EngineSnapshot, options: TemplateOptions): Templates {
  const { pools } = snapshot;
  const [first] = pools;
  if (first === undefined) return compiledAnew(snapshot, options).templates;
  const asked = askedOf(pools, options);
  const known = kept.get(first.instanceTypes);
  if (
    known !== undefined &&
    known.uses < MOST_USES &&
    known.shapeCount() < MOST_SHAPES &&
    sameItems(known.asked, asked)
  ) {
    known.uses += 1;
    return withPools(known.templates, pools);
  }
  const before = options.leftOuts.all.length;
  const compiled = compiledAnew(snapshot, options);
  // omitted NodePools must be reported for each snapshot, so such results are not cached
  if (options.leftOuts.all.length === before) kept.set(first.instanceTypes, { asked, ...compiled, uses: 1 });
  return compiled.templates;
}

/** Returns all inputs that determine the templates. Lists of instance types are immutable. */
const askedOf = (
  pools: readonly PoolInput[],
  { dimensions, daemons, strictMinValues, sellsReserved }: TemplateOptions,
): readonly unknown[] => [
  dimensions.identity,
  JSON.stringify(daemons.map((daemon) => [demandsOnNodes(daemon), daemon.ports])),
  ...[strictMinValues, sellsReserved],
  ...pools.flatMap(({ nodePool, instanceTypes, extras }) => [
    nodePool.metadata.name,
    specTextOf(nodePool.spec),
    extrasUsdPerHour(extras),
    chargesUsdPerHour(extras),
    instanceTypes,
  ]),
];

const specTextOf = remembering((spec: NodePool['spec']): string => JSON.stringify(spec));

/** Returns the templates with the current NodePool objects, because their statuses change frequently. */
function withPools({ templates, ...rest }: Templates, pools: readonly PoolInput[]): Templates {
  const byName = new Map(pools.map(({ nodePool }) => [nodePool.metadata.name, nodePool]));
  return {
    ...rest,
    templates: templates.map((template) => ({ ...template, pool: byName.get(template.name) ?? template.pool })),
  };
}

function compiledAnew(
  snapshot: EngineSnapshot,
  { dimensions, daemons, strictMinValues, sellsReserved, leftOuts }: TemplateOptions,
): Pick<Kept, 'templates' | 'shapeCount'> {
  const shapes = new Map<readonly InstanceType[], Shapes>();
  let shapeCount = 0;
  const emptyPools: { nodePool: string; dueToMinValues: boolean }[] = [];
  const idle: IdlePool[] = [];
  const compiled = ({ nodePool: pool, instanceTypes, extras }: PoolInput): readonly CompiledPool[] => {
    const known =
      shapes.get(instanceTypes) ??
      new Shapes(compiledTypesOf(instanceTypes, dimensions, sellsReserved), () => shapeCount++);
    shapes.set(instanceTypes, known);
    const { catalogue } = known;
    const root = known.of(templateRequirements(pool).and(HOSTNAME_LABEL, NO_HOST));
    const rows = catalogue.keepFitting(root.possible.clone(), dimensions.amounts({}));
    const left = catalogue.typesOf(rows).flatMap((type) => catalogue.types[type] ?? []);
    const { unsatisfied } = satisfiesMinValues(left, root.requirements);
    const dueToMinValues = strictMinValues && unsatisfied.length > 0;
    if (left.length === 0 || dueToMinValues) {
      emptyPools.push({ nodePool: pool.metadata.name, dueToMinValues });
      const misfit = dueToMinValues ? tooFewValues(root.requirements, unsatisfied) : noTypes(instanceTypes);
      idle.push({ nodePool: pool.metadata.name, misfit });
      return [];
    }
    const taints = pool.spec.template.spec.taints ?? [];
    const groups = daemonGroups(daemons, { taints, requirements: root.requirements, catalogue, rows }, dimensions);
    const choices = new Choices(catalogue, groups);
    const hash = nodePoolHash(pool);
    const { name } = pool.metadata;
    const template = {
      name,
      pool,
      hash,
      catalogue,
      taints,
      root,
      rows,
      groups,
      choices,
      extrasUsdPerHour: extrasUsdPerHour(extras),
      claimExtras: claimExtras(extras),
      surplusPrices: new SurplusPrices(catalogue, groups, dimensions),
    };
    templateOf(template, [], new SharedLimits([])); // throws if the limits are not valid
    return [template];
  };
  const named = ({ nodePool }: PoolInput) => leftOutName('NodePool', { name: nodePool.metadata.name });
  const templates = leftOuts.kept(inOrder(snapshot.pools), named, compiled).flat();
  const unreadable = leftOuts.all.filter(({ kind }) => kind === 'NodePool');
  for (const { name, text } of unreadable) idle.push({ nodePool: name, misfit: { code: 'unreadable', text } });
  return { templates: { templates, emptyPools, idle }, shapeCount: () => shapeCount };
}

const tooFewValues = (requirements: Requirements, unsatisfied: MinValuesResult['unsatisfied']): Misfit => ({
  code: 'min-values',
  text: unsatisfied
    .map(
      ([key, reached]) =>
        `minValues of ${key} is ${requirements.get(key).minValues}, but its instance types have only ${reached} values`,
    )
    .join('; '),
});

const noTypes = (instanceTypes: readonly InstanceType[]): Misfit => ({
  code: 'no-instance-types',
  text:
    instanceTypes.length === 0
      ? 'its instance types are unknown'
      : 'no available instance type matches its requirements',
});
