/** Input of decisions about NodePools: instance types, costs and devices of their nodes. */

import { type NodePolicy, type NodePool, sectionFor } from '#api/objects';
import { type CostPolicy, nodeHourlyFee, shareOf } from '#api/values';
import { countedTypes, NO_CHARGES, type NodeCharges, type NodeExtras } from '#engine/costs';
import { DEFAULT_PREFERENCE_TERMS, type InstanceType, type PoolInput } from '#engine/model';
import { defined } from '#lib';
import type { DeviceSources } from '#state';
import { type Governing, governedPool } from './rollouts.ts';
import { launchableTypes, spotTermsOf } from './spot.ts';

/** Instance types of NodePools and charges of their nodes, from the provider or from files. */
export interface Catalogue {
  /** Rejects if the instance types of the NodePool are not known now. */
  instanceTypes(nodePool: NodePool): Promise<readonly InstanceType[]>;
  /** Returns the charges of each node besides its instance. Absent if nodes have no charges. @throws Error if they are unknown */
  charges?(nodePool: NodePool): NodeCharges;
}

/**
 * Fact about a NodePool that could not be read, or an empty list of instance types. If a fact cannot be read, the input has no
 * instance types or no charges, and the fee of the setting.
 */
export interface PoolProblem {
  readonly of: 'types' | 'empty' | 'fee' | 'charges';
  readonly nodePool: NodePool;
  /** Undefined for an empty list. */
  readonly error?: unknown;
}

interface ExtrasOptions {
  readonly catalogue: Pick<Catalogue, 'charges'>;
  readonly policy: CostPolicy;
  /** Setting of the operator, in USD per hour. Annotations of NodePools take precedence. */
  readonly nodeHourlyFee: number;
  readonly onProblem: (problem: PoolProblem) => void;
}

interface PoolOptions extends ExtrasOptions {
  readonly catalogue: Catalogue;
  /** All NodePolicies of the cluster. */
  readonly policies: readonly NodePolicy[];
  /** State of the cluster that policies depend on. Default: policies do not change NodePools. */
  readonly governing?: Governing | undefined;
  /** Undefined while dynamic resources are ignored. */
  readonly devices?: Pick<DeviceSources, 'forPool'> | undefined;
}

/** Returns the inputs of the NodePools, in the same order. */
export const poolInputs = (pools: readonly NodePool[], options: PoolOptions): Promise<readonly PoolInput[]> =>
  Promise.all(pools.map((nodePool) => poolInput(nodePool, options)));

async function poolInput(nodePool: NodePool, options: PoolOptions): Promise<PoolInput> {
  const spot = spotTermsOf(nodePool, options.policies);
  const instanceTypes = launchableTypes(await typesOf(nodePool, options), spot);
  const devices = instanceTypes === NO_TYPES ? undefined : await options.devices?.forPool(nodePool, instanceTypes);
  const zoneBalance = zoneBalanceOf(nodePool, options);
  const governed = options.governing === undefined ? nodePool : governedPool(nodePool, options.governing);
  const extras = nodeExtras(nodePool, options);
  const preferences = preferenceTermsOf(nodePool, options);
  return { nodePool: governed, instanceTypes, extras, zoneBalance, ...defined({ preferences, spot }), ...devices };
}

function preferenceTermsOf(nodePool: NodePool, { policies }: PoolOptions): PoolInput['preferences'] {
  const { worth, maxWorth } = sectionFor(policies, nodePool, 'preferences')?.value ?? {};
  if (worth === undefined) return undefined;
  return {
    worth: shareOf(worth) ?? DEFAULT_PREFERENCE_TERMS.worth,
    most: shareOf(maxWorth) ?? DEFAULT_PREFERENCE_TERMS.most,
  };
}

/** A NodePolicy takes precedence over the mode of packing or consolidation. */
function zoneBalanceOf(nodePool: NodePool, { policies, policy }: PoolOptions): number {
  const share = sectionFor(policies, nodePool, 'zones')?.value.balance;
  return share === undefined ? policy.zoneBalance : Number.parseFloat(share) / 100;
}

async function typesOf(
  nodePool: NodePool,
  { catalogue, policy, onProblem }: PoolOptions,
): Promise<readonly InstanceType[]> {
  try {
    const types = await catalogue.instanceTypes(nodePool);
    if (types.length === 0) onProblem({ of: 'empty', nodePool });
    return countedTypes(policy, types);
  } catch (error) {
    onProblem({ of: 'types', nodePool, error });
    return NO_TYPES;
  }
}

/** A shared list, because results are cached by list. */
const NO_TYPES: readonly InstanceType[] = [];

/**
 * Returns the costs of each node besides its instance. Reports always include the charges. Decisions include them only with a
 * fee, which is 0 if the policy expects no such costs.
 */
export function nodeExtras(nodePool: NodePool, options: ExtrasOptions): NodeExtras {
  const { catalogue, policy, nodeHourlyFee: fee, onProblem } = options;
  const feeUsdPerHour = policy.expectsCosts
    ? nodeHourlyFee(nodePool, fee, (error) => onProblem({ of: 'fee', nodePool, error }))
    : 0;
  try {
    return { feeUsdPerHour, ...(catalogue.charges?.(nodePool) ?? NO_CHARGES) };
  } catch (error) {
    onProblem({ of: 'charges', nodePool, error });
    return { feeUsdPerHour, ...NO_CHARGES };
  }
}
