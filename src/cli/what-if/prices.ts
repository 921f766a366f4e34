/** Applies `--what-if "spot+30%"`: changes prices of a capacity type or of instance types. */
import { CAPACITY_TYPE_LABEL, type NodePool } from '#api/objects';
import type { InstanceType, Offering } from '#engine/model';
import { tryRun } from '#lib';
import { InputError } from '../objects/errors.ts';
import type { Manifest } from '../objects/read.ts';

interface PriceChange {
  /** Place in messages: `--what-if "m5.*+20%"`. */
  readonly where: string;
  readonly factor: number;
  readonly isMeant: (type: InstanceType, offering: Offering) => boolean;
}

const PRICE = /^(?<what>[a-z0-9*][a-z0-9.*-]*)(?<sign>[+-])(?<percent>\d{1,4}(?:\.\d+)?)%$/;
const CAPACITY_TYPES: readonly string[] = ['spot', 'on-demand', 'reserved'];

/**
 * Returns undefined if the text is not a change of prices.
 *
 * @throws InputError if the prices would be negative
 */
export function priceChangeOf(text: string): PriceChange | undefined {
  const { what, sign = '', percent = '' } = PRICE.exec(text)?.groups ?? {};
  if (what === undefined) return undefined;
  const where = `--what-if "${text}"`;
  const factor = 1 + Number(`${sign}${percent}`) / 100;
  if (factor < 0) throw new InputError(where, 'prices cannot fall by more than 100%');
  const isNamed = matcherOf(what);
  const isMeant: PriceChange['isMeant'] = CAPACITY_TYPES.includes(what)
    ? (_, { requirements }) =>
        requirements.some(({ key, values = [] }) => key === CAPACITY_TYPE_LABEL && values.includes(what))
    : ({ name }) => isNamed(name);
  return { where, factor, isMeant };
}

/** Returns a matcher for a pattern in which `*` stands for any characters. */
function matcherOf(pattern: string): (name: string) => boolean {
  const [first = '', ...rest] = pattern.split('*');
  const last = rest.pop();
  return (name) => {
    if (last === undefined) return name === pattern;
    if (!name.startsWith(first) || !name.endsWith(last)) return false;
    let at = first.length;
    for (const part of rest) {
      const found = name.indexOf(part, at);
      if (found < 0) return false;
      at = found + part.length;
    }
    return at <= name.length - last.length;
  };
}

type TypesOf = (nodePool: NodePool) => readonly InstanceType[];

/**
 * Returns instance types with changed prices. Returns the same list for the same input, because the engine compiles
 * each list once.
 *
 * @throws InputError if a change matches no instance type of the NodePools
 */
export function atOtherPrices(
  types: TypesOf,
  changes: readonly PriceChange[],
  manifests: readonly Manifest[],
): TypesOf {
  if (changes.length === 0) return types;
  const pools = manifests.flatMap(({ object }) => (object.kind === 'NodePool' ? [object as NodePool] : []));
  const seen = [...new Set(pools.flatMap((pool) => readable(types, pool)))];
  for (const { where, isMeant } of changes) {
    const isKnown = seen.some((list) =>
      list.some((type) => type.offerings.some((offering) => isMeant(type, offering))),
    );
    if (seen.length > 0 && !isKnown)
      throw new InputError(where, 'no NodePool in the manifests has a matching instance type');
  }
  const known = new Map<readonly InstanceType[], readonly InstanceType[]>();
  return (nodePool) => {
    const given = types(nodePool);
    const made = known.get(given) ?? given.map((type) => reprice(type, changes));
    known.set(given, made);
    return made;
  };
}

/** Returns the instance types of a NodePool. Ignores errors, because the reader of NodePools reports them. */
const readable = (types: TypesOf, pool: NodePool): readonly (readonly InstanceType[])[] =>
  tryRun(() => [types(pool)]) ?? [];

const reprice = (type: InstanceType, changes: readonly PriceChange[]): InstanceType => ({
  ...type,
  offerings: type.offerings.map((offering) => {
    const factor = changes.reduce(
      (product, change) => product * (change.isMeant(type, offering) ? change.factor : 1),
      1,
    );
    if (factor === 1) return offering;
    const { usdPerHour, listUsdPerHour, spotRiskUsdPerHour } = offering;
    const listed = listUsdPerHour === undefined ? {} : { listUsdPerHour: listUsdPerHour * factor };
    const risk = spotRiskUsdPerHour === undefined ? {} : { spotRiskUsdPerHour: spotRiskUsdPerHour * factor };
    return { ...offering, usdPerHour: usdPerHour * factor, ...listed, ...risk };
  }),
});
