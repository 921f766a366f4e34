/** Instance types, prices and charges of manifests, which take the place of the operator's provider. */

import { CAPACITY_TYPE_LABEL, type NodePool } from '#api/objects';
import { EMPTY_BOOK, readPriceBook } from '#api/price-book';
import { bookInForce, type DiscountedPrice, nodeCharges, offeringPrices } from '#aws/instance-types';
import { familyOf } from '#aws/node-classes';
import { type Commitment, NO_CHARGES } from '#engine/costs';
import { type InstanceType, type Offering, requirementsOf } from '#engine/model';
import type { Catalogue } from '#planner';
import { InputError } from './errors.ts';
import { underOverlays } from './gated-kinds.ts';
import type { NodeClasses } from './node-classes.ts';
import { placesOf } from './places.ts';
import { isFromCluster, type Manifest } from './read.ts';
import { readText } from './text.ts';

export type TypesOf = (nodePool: NodePool) => readonly InstanceType[];

interface Provider {
  readonly catalogue: Catalogue;
  readonly notes: readonly string[];
}

/**
 * Returns the catalogue of the NodePools, with NodeOverlays applied.
 *
 * Public addresses count only if the NodeClass requests them, because manifests do not contain the settings of subnets. The
 * validation of the NodeClass reports fields that cannot be parsed.
 *
 * @throws InputError with the document and the field
 */
export function providerOf(
  nodePools: readonly NodePool[],
  manifests: readonly Manifest[],
  { nodeClasses, types }: { readonly nodeClasses: NodeClasses; readonly types: TypesOf },
): Provider {
  const problems: string[] = [];
  const plain = nodePools.map((nodePool) => ({
    nodePool,
    instanceTypes: nodeClasses.isUnusable(nodePool) ? [] : typesOf(nodePool, manifests, { types, problems }),
  }));
  const { pools, notes } = underOverlays(plain, manifests);
  const byPool = new Map(pools.map(({ nodePool, instanceTypes }) => [nodePool, instanceTypes]));
  return {
    catalogue: {
      instanceTypes: async (nodePool) => byPool.get(nodePool) ?? [],
      charges: ({ spec }) => {
        const nodeClass = nodeClasses.get(spec.template.spec.nodeClassRef.name);
        return nodeClass === undefined ? NO_CHARGES : nodeCharges(nodeClass, familyOf(nodeClass), 0);
      },
    },
    notes: [...problems, ...notes],
  };
}

/**
 * Returns the instance types of a NodePool. Returns an empty list if the NodeClass of a cluster cannot be used, because its
 * NodePools launch no nodes.
 */
function typesOf(
  nodePool: NodePool,
  manifests: readonly Manifest[],
  { types, problems }: { readonly types: TypesOf; readonly problems: string[] },
): readonly InstanceType[] {
  try {
    return types(nodePool);
  } catch (error) {
    const { name } = nodePool.spec.template.spec.nodeClassRef;
    const nodeClass = manifests.find(({ object }) => object.kind === 'EC2NodeClass' && object.metadata.name === name);
    if (!(error instanceof InputError) || nodeClass === undefined || !isFromCluster(nodeClass)) throw error;
    if (!problems.includes(error.message)) problems.push(error.message);
    return [];
  }
}

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
  const { discounted, commitments } = bookInForce(book, { region: placesOf(manifests).region, nowMs });
  return {
    commitments,
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
      return { ...rest, ...offeringPrices(listUsdPerHour, discounted(name, capacityType, listUsdPerHour)) };
    };
  }
}
