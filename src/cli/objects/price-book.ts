/** Applies a price book file to the instance types of manifests. */

import { CAPACITY_TYPE_LABEL } from '../../api/labels.ts';
import type { NodePool } from '../../api/nodepool.ts';
import { EMPTY_BOOK } from '../../api/price-book/price-book.ts';
import { readPriceBook } from '../../api/price-book/read.ts';
import { requirementsOf } from '../../engine/instance-types.ts';
import type { InstanceType, Offering } from '../../engine/model.ts';
import { commitmentsOf, type DiscountedPrice, discountsOf } from '../../engine/price-book/book-entries.ts';
import type { Commitment } from '../../engine/price-book/commitment.ts';
import { placesOf } from './places.ts';
import type { Manifest } from './read.ts';
import { readText } from './text.ts';

type TypesOf = (nodePool: NodePool) => readonly InstanceType[];

export interface AppliedBook {
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
