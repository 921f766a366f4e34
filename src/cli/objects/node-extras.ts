/** What the nodes of NodePools among manifests cost besides their instances, as far as manifests tell. */
import { nodeHourlyFee } from '../../api/node-hourly-fee.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { familyOf } from '../../aws/amis/families.ts';
import { nodeCharges } from '../../aws/pricing/node-charges.ts';
import type { PoolInput } from '../../engine/model.ts';
import { NO_CHARGES, type NodeCharges } from '../../engine/node-extras.ts';
import type { NodeClasses } from './node-classes.ts';

export interface ExtrasOptions {
  /** USD per hour; when left out or 0, nodes cost as much as their instances, as Karpenter has it. */
  readonly nodeHourlyFee?: number | undefined;
}

export class ExtrasReader {
  readonly #nodeClasses: NodeClasses;
  readonly #fee: number | undefined;
  readonly notes: string[] = [];

  constructor(nodeClasses: NodeClasses, { nodeHourlyFee: fee }: ExtrasOptions) {
    this.#nodeClasses = nodeClasses;
    this.#fee = fee;
  }

  of(nodePool: NodePool): Pick<PoolInput, 'extras'> {
    if (this.#fee === undefined) return {};
    const feeUsdPerHour = nodeHourlyFee(nodePool, this.#fee, (text) =>
      this.notes.push(`NodePool ${nodePool.metadata.name}: ${text}; the operator uses its setting instead`),
    );
    if (feeUsdPerHour === 0) return {};
    return { extras: { feeUsdPerHour, ...this.#chargesOf(nodePool) } };
  }

  /** Whether subnets give instances a public address is not among manifests: only a NodeClass that says so counts. */
  #chargesOf({ spec }: NodePool): NodeCharges {
    const nodeClass = this.#nodeClasses.get(spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined) return NO_CHARGES;
    try {
      return nodeCharges(nodeClass, familyOf(nodeClass), 0);
    } catch {
      return NO_CHARGES; // fields that cannot be read are said where the NodeClass is judged
    }
  }
}
