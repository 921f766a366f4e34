/** A NodePool compiled: its instance types as rows, and what a claim of it starts from. */
import type { Taint } from '../../api/kubernetes.ts';
import type { NodePool } from '../../api/nodepool.ts';
import type { BitSet } from './bitset.ts';
import type { Choices } from './choice.ts';
import type { CompiledTypes } from './compiled-types.ts';
import type { DaemonGroup } from './daemons.ts';
import type { Shape } from './shape.ts';

/** What of a NodePool all solves of a snapshot share. */
export interface CompiledPool {
  readonly name: string;
  readonly pool: NodePool;
  /** The pool's hash, which its NodeClaims carry to show later whether the pool has changed. */
  readonly hash: string;
  readonly catalogue: CompiledTypes;
  /** What each node costs besides its instance. */
  readonly extrasUsdPerHour: number;
  readonly taints: readonly Taint[];
  /** What a claim without pods asks for. */
  readonly root: Shape;
  /** Rows that the pool's own requirements leave. */
  readonly rows: BitSet;
  readonly groups: readonly DaemonGroup[];
  readonly choices: Choices;
}
