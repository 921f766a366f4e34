/** Compiled NodePool: its instance types as rows, and the initial state of its claims. */
import type { NodePool, Taint } from '#api/objects';
import type { claimExtras } from '../node-extras.ts';
import type { BitSet } from './bitset.ts';
import type { Choices } from './choice.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { DaemonGroup } from './daemons.ts';
import type { Shape } from './shape.ts';
import type { SurplusPrices } from './surplus-prices.ts';

/** Data of a NodePool that all solves of a snapshot share. */
export interface CompiledPool {
  readonly name: string;
  readonly pool: NodePool;
  /** Hash of the NodePool. Its NodeClaims store the hash, so that drift can be detected. */
  readonly hash: string;
  readonly catalogue: CompiledTypes;
  /** Cost of each node besides its instance for decisions. */
  readonly extrasUsdPerHour: number;
  /** Costs of each node besides its instance, as planned NodeClaims carry them. */
  readonly claimExtras: ReturnType<typeof claimExtras>;
  readonly taints: readonly Taint[];
  /** Requirements of a claim without pods. */
  readonly root: Shape;
  /** Rows that satisfy the NodePool's own requirements. */
  readonly rows: BitSet;
  readonly groups: readonly DaemonGroup[];
  readonly choices: Choices;
  /** Prices of surplus CPU, which depend on the requests. */
  readonly surplusPrices: SurplusPrices;
}
