/** Costs of nodes in addition to their instances, and price books, as far as manifests contain them. */

import { CAPACITY_TYPE_LABEL } from '../../api/labels.ts';
import { nodeHourlyFee } from '../../api/node-hourly-fee.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { EMPTY_BOOK } from '../../api/price-book/price-book.ts';
import { readPriceBook } from '../../api/price-book/read.ts';
import { familyOf } from '../../aws/amis/families.ts';
import { nodeCharges } from '../../aws/pricing/node-charges.ts';
import { requirementsOf } from '../../engine/instance-types.ts';
import type { InstanceType, Offering, PoolInput } from '../../engine/model.ts';
import { NO_CHARGES, type NodeCharges } from '../../engine/node-extras.ts';
import { commitmentsOf, type DiscountedPrice, discountsOf } from '../../engine/price-book/book-entries.ts';
import type { Commitment } from '../../engine/price-book/commitment.ts';
import { tryRun } from '../../lib/try-run.ts';
import type { NodeClasses } from './node-classes.ts';
import { placesOf } from './places.ts';
import type { Manifest } from './read.ts';
import { readText } from './text.ts';

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
   * manifests do not contain the settings of subnets. The validation of the NodeClass reports fields that cannot be parsed.
   */
  #chargesOf({ spec }: NodePool): NodeCharges {
    const nodeClass = this.#nodeClasses.get(spec.template.spec.nodeClassRef.name);
    return tryRun(() => nodeClass && nodeCharges(nodeClass, familyOf(nodeClass), 0)) ?? NO_CHARGES;
  }
}

type TypesOf = (nodePool: NodePool) => readonly InstanceType[];

interface AppliedBook {
  readonly commitments: readonly Commitment[];
  /**
   * Applies discounts to instance types. Returns the same list for the same input, because the engine compiles each
   * list once.
   */
  readonly pricing: (types: TypesOf) => TypesOf;
  /** Notes on invalid entries, which are ignored. */
  readonly notes: readonly string[];
}

/** @throws InputError with the file if the file cannot be read */
export function appliedBook(file: string | undefined, manifests: readonly Manifest[], nowMs: number): AppliedBook {
  const { book, problems } =
    file === undefined ? { book: EMPTY_BOOK, problems: [] } : readPriceBook(readText(file), file);
  const context = { region: placesOf(manifests).region, nowMs };
  const discounted = discountsOf(book, context);
  return {
    commitments: commitmentsOf(book, context),
    pricing: (types) => (discounted === undefined ? types : atDiscounts(types, discounted)),
    notes: problems,
  };
}

function atDiscounts(types: TypesOf, discounted: DiscountedPrice): TypesOf {
  const known = new Map<readonly InstanceType[], readonly InstanceType[]>();
  return (nodePool) => {
    const given = types(nodePool);
    const made = known.get(given) ?? given.map((type) => ({ ...type, offerings: type.offerings.map(priced(type)) }));
    known.set(given, made);
    return made;
  };

  function priced({ name }: InstanceType): (offering: Offering) => Offering {
    return (offering) => {
      // prices that an operator reports already contain the operator's own discounts
      const { usdPerHour: _, listUsdPerHour = offering.usdPerHour, ...rest } = offering;
      const capacityType = requirementsOf(offering).get(CAPACITY_TYPE_LABEL).any();
      const usdPerHour = discounted(name, capacityType, listUsdPerHour);
      return usdPerHour === listUsdPerHour ? { ...rest, usdPerHour } : { ...rest, usdPerHour, listUsdPerHour };
    };
  }
}
