/** Computes the costs of nodes in addition to their instances, as far as manifests contain them. */
import { nodeHourlyFee } from '../../api/node-hourly-fee.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { familyOf } from '../../aws/amis/families.ts';
import { nodeCharges } from '../../aws/pricing/node-charges.ts';
import type { PoolInput } from '../../engine/model.ts';
import { NO_CHARGES, type NodeCharges } from '../../engine/node-extras.ts';
import type { NodeClasses } from './node-classes.ts';

export interface ExtrasOptions {
  /**
   * Fee per node in USD per hour. If it is undefined or 0, decisions compare only the prices of instances, as in Karpenter.
   */
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
    const feeUsdPerHour =
      this.#fee === undefined
        ? 0
        : nodeHourlyFee(nodePool, this.#fee, (text) =>
            this.notes.push(`NodePool ${nodePool.metadata.name}: ${text}; the operator uses its own setting instead`),
          );
    return { extras: { feeUsdPerHour, ...this.#chargesOf(nodePool) } };
  }

  /**
   * Returns the charges of the NodeClass's nodes. Public addresses count only if the NodeClass requests them, because
   * manifests do not contain the settings of subnets.
   */
  #chargesOf({ spec }: NodePool): NodeCharges {
    const nodeClass = this.#nodeClasses.get(spec.template.spec.nodeClassRef.name);
    if (nodeClass === undefined) return NO_CHARGES;
    try {
      return nodeCharges(nodeClass, familyOf(nodeClass), 0);
    } catch {
      return NO_CHARGES; // the validation of the NodeClass reports fields that cannot be parsed
    }
  }
}
