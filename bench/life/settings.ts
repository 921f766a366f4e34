/** Settings that `npm run bench -- life` compares, and the NodePools of its lives. */
import type { KubeObject, NodePolicy, NodePool, Taint } from '#api/objects';
import type { NodeClaimRequirement } from '#api/testing';
import { KARPENTERS_WAY } from '#cli/testing';
import type { SettingsSet } from '#replay/run';
import type { Trace } from '#replay/trace';
import { nodeClassOf, nodePoolOf } from '../../test/support/awsobjects.ts';
import type { Capacity } from './kinds.ts';

const GPU = 'nvidia.com/gpu';

/** Use of GPUs by the pods of a trace: `tolerated` if all pods with GPUs tolerate the usual taint of nodes with GPUs. */
export type GpuUse = 'none' | 'tolerated' | 'not tolerated';

export async function gpuUseOf(trace: Pick<Trace, 'events'>): Promise<GpuUse> {
  let use: GpuUse = 'none';
  for await (const event of trace.events()) {
    const text = JSON.stringify(event);
    if (!text.includes(`"${GPU}":`)) continue;
    if (!text.includes(`"key":"${GPU}"`)) return 'not tolerated';
    use = 'tolerated';
  }
  return use;
}

export interface Setting {
  /** Name for `--settings`. */
  readonly name: string;
  readonly title: string;
  /** Arguments of the operator. */
  readonly args: readonly string[];
  readonly consolidationPolicy: 'WhenEmptyOrUnderutilized' | 'Balanced';
  /** Section `spot` of a NodePolicy for all NodePools. */
  readonly spot?: NonNullable<NodePolicy['spec']['spot']>;
}

const setting = (name: string, title: string, args: readonly string[]): Setting => ({
  name,
  title,
  args,
  consolidationPolicy: 'WhenEmptyOrUnderutilized',
});

export const KARPENTER = setting('karpenter', "Karpenter's way", KARPENTERS_WAY);
const BALANCED: Setting = {
  ...setting('balanced', "Karpenter's way, Balanced", KARPENTERS_WAY),
  consolidationPolicy: 'Balanced',
};
/** Settings with Karpenter's consolidation, which are the standard of comparison. */
export const REFERENCES: readonly string[] = [KARPENTER.name, BALANCED.name];

export const SETTINGS: readonly Setting[] = [
  KARPENTER,
  BALANCED,
  setting('default', 'default', []),
  setting('deletion-costs', 'default, deletion costs', ['--pod-deletion-cost=true']),
];

const ofSpot = (name: string, title: string, spot: NonNullable<NodePolicy['spec']['spot']>): Setting => ({
  ...setting(name, `default, ${title}`, ['--feature-gates=SpotToSpotConsolidation=true']),
  spot,
});

/** Settings of NodePolicies for spot. The first of them changes no decision. */
export const SPOT_SETTINGS: readonly Setting[] = [
  ofSpot('spot', 'spot to spot', { consolidationTypes: 15 }),
  ofSpot('spot-share', 'share 70 %', { share: '70%' }),
  ofSpot('spot-price', 'price 35 %', { maxPrice: '35%' }),
  ofSpot('spot-wait', 'wait 5m', { onDemandAfter: '5m' }),
  ofSpot('spot-types', '5 types', { consolidationTypes: 5 }),
];

/** @param says name and arguments, for example `cheap=--eviction-price=0.01` */
export function settingFrom(says: string): Setting {
  const at = says.indexOf('=');
  const name = says.slice(0, at);
  if (at < 1) throw new Error(`--with must be NAME=ARGUMENTS, not ${JSON.stringify(says)}`);
  return setting(
    name,
    name,
    says
      .slice(at + 1)
      .split(' ')
      .filter(Boolean),
  );
}

export interface NodeOptions {
  readonly capacity: Capacity;
  readonly consolidateAfter: string;
  /** Least and largest number of vCPUs of nodes without GPUs. */
  readonly cpus?: readonly [least: number, most: number] | undefined;
}

const OF_DAY: NodeOptions = { capacity: 'on-demand', consolidateAfter: '1m' };

export const setOf = (each: Setting, gpuUse: GpuUse, nodes: NodeOptions = OF_DAY): SettingsSet => ({
  name: each.title,
  says: [],
  args: each.args,
  objects: [...objectsFor(each.consolidationPolicy, gpuUse, nodes), ...(each.spot ? [policyOf(each.spot)] : [])],
});

const policyOf = (spot: NonNullable<NodePolicy['spec']['spot']>): NodePolicy => ({
  apiVersion: 'karpenter-ts.sh/v1alpha1',
  kind: 'NodePolicy',
  metadata: { name: 'spot' },
  spec: { spot },
});

/** Returns all settings, with on-demand nodes. */
export const setsFor = (gpuUse: GpuUse): readonly SettingsSet[] => SETTINGS.map((each) => setOf(each, gpuUse));

const allows = (key: string, operator: 'In' | 'Gt' | 'Lt', ...values: readonly string[]): NodeClaimRequirement => ({
  key,
  operator,
  values,
});

const CAPACITY_TYPES: Readonly<Record<Capacity, readonly string[]>> = {
  'on-demand': ['on-demand'],
  spot: ['spot'],
  mixed: ['spot', 'on-demand'],
};

/**
 * Returns NodePools with c, m and r types. Traces with GPUs may also use types with GPUs of any size, in a NodePool that has the
 * usual taint if all pods with GPUs tolerate it.
 */
function objectsFor(
  consolidationPolicy: Setting['consolidationPolicy'],
  gpuUse: GpuUse,
  { capacity, consolidateAfter, cpus: [least, most] = [1, 32] }: NodeOptions,
): readonly KubeObject[] {
  const capacityTypes = allows('karpenter.sh/capacity-type', 'In', ...CAPACITY_TYPES[capacity]);
  const plain = nodePoolOf(
    capacityTypes,
    allows('karpenter.k8s.aws/instance-category', 'In', 'c', 'm', 'r'),
    allows('karpenter.k8s.aws/instance-generation', 'Gt', '4'),
    ...(least > 1 ? [allows('karpenter.k8s.aws/instance-cpu', 'Gt', String(least - 1))] : []),
    allows('karpenter.k8s.aws/instance-cpu', 'Lt', String(most + 1)),
  );
  const gpus = nodePoolOf(capacityTypes, allows('karpenter.k8s.aws/instance-category', 'In', 'g', 'p'));
  const disruption = { consolidationPolicy, consolidateAfter } as NonNullable<NodePool['spec']['disruption']>;
  const named = (pool: NodePool, name: string): NodePool => ({
    ...pool,
    metadata: { ...pool.metadata, name },
    spec: { ...pool.spec, disruption },
  });
  const withGpus = gpuUse === 'tolerated' ? withTaint(gpus, { key: GPU, effect: 'NoSchedule' }) : gpus;
  return [nodeClassOf('replay'), named(plain, 'default'), ...(gpuUse === 'none' ? [] : [named(withGpus, 'gpu')])];
}

function withTaint(pool: NodePool, taint: Taint): NodePool {
  const { template, ...spec } = pool.spec;
  return { ...pool, spec: { ...spec, template: { ...template, spec: { ...template.spec, taints: [taint] } } } };
}
