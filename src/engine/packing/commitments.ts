/**
 * Lets the nodes of a plan use the unused part of commitments. A covered node adds no cost, so it is
 * on-demand, with a covered type, even if spot is cheaper than on-demand.
 *
 * Compares three plans by the amount that they add to the bill: the original plan; the same nodes, with covers where they save
 * most; and a new packing for the unused commitments. The new packing runs in rounds. Each round packs nodes of covered types as
 * if commitments were unlimited, and keeps the nodes that can be covered completely. The pods of the remaining nodes are packed
 * again for the remaining commitments, and finally without commitments.
 */
import { coverageOf, type RunningInstance } from '../price-book/coverage.ts';
import type { Ledger } from '../price-book/ledger.ts';
import type { Claim, ClaimCover } from '../solver/claim.ts';
import { bestCover, coveredPrices, isCoverable, onDemandUsage } from '../solver/cover.ts';
import { type RepackParts, repacked } from './repack.ts';

/** Maximum number of rounds. Each round packs the pods of all nodes that are not covered yet. */
const ROUNDS = 4;
/** Minimum relative difference in price that justifies different nodes. */
const SIGNIFICANT = 1e-6;

/** Claims, with the covers of the claims that use commitments. */
interface Housing {
  readonly claims: readonly Claim[];
  readonly covers: ReadonlyMap<Claim, ClaimCover>;
}

/**
 * Returns claims that use commitments if this lowers the bill.
 * @param packed claims without commitments
 * @param bought claims that were the input of the packing
 * @param ledger unused commitments; not modified
 */
export function withCommitments(
  packed: readonly Claim[],
  bought: readonly Claim[],
  { ledger, parts }: { readonly ledger: Ledger; readonly parts: RepackParts },
): readonly Claim[] {
  if (ledger.isEmpty) return packed;
  const before: Housing = { claims: packed, covers: new Map() };
  const housings = [before, covering(before, ledger.copy()), packedAnew(bought, ledger.copy(), parts)];
  let best = billed(before, ledger);
  for (const housing of housings.slice(1)) {
    const bill = billed(housing, ledger);
    if (bill.usdPerHour < best.usdPerHour * (1 - SIGNIFICANT)) best = bill;
  }
  for (const [claim, cover] of best.covers) claim.cover = cover;
  return best.claims;
}

interface Bill extends Housing {
  readonly usdPerHour: number;
}

/** Returns the amount that the nodes add to the bill, if AWS applies commitments to them. */
function billed({ claims, covers }: Housing, ledger: Ledger): Bill {
  const onDemand = new Map<Claim, ClaimCover>();
  const instances = claims.flatMap((claim, at): readonly RunningInstance[] => {
    const cover = covers.get(claim) ?? onDemandUsage(claim);
    if (cover === undefined) return [];
    onDemand.set(claim, cover);
    return [{ id: String(at), capacityType: 'on-demand', ...cover.usage }];
  });
  const { covered } = coverageOf(instances, ledger.rest);
  const used = new Map<Claim, ClaimCover>();
  let usdPerHour = 0;
  for (const [at, claim] of claims.entries()) {
    const own = covers.get(claim);
    const part = covered.get(String(at)) ?? 0;
    usdPerHour += (own?.usage.usdPerHour ?? claim.usdPerHour) - part + claim.state.template.extrasUsdPerHour;
    const cover = own ?? (part > 0 ? onDemand.get(claim) : undefined);
    if (cover !== undefined) used.set(claim, { ...cover, coveredUsdPerHour: part });
  }
  return { claims, covers: used, usdPerHour };
}

interface Offer {
  readonly claim: Claim;
  readonly saved: number;
  readonly part: number;
}

/**
 * Returns the claims that a cover makes cheaper. Claims that save the largest part of the price that commitments cover come
 * first.
 */
function offersFor(claims: readonly Claim[], ledger: Ledger): readonly Offer[] {
  return claims
    .filter(isCoverable)
    .flatMap((claim) => {
      const found = bestCover(claim, ledger);
      if (found === undefined) return [];
      const saved = claim.usdPerHour - found.usdPerHour;
      return [{ claim, saved, part: saved / found.cover.usage.usdPerHour }];
    })
    .filter(({ claim, saved }) => saved > claim.usdPerHour * SIGNIFICANT)
    .sort((a, b) => b.part - a.part || b.saved - a.saved || a.claim.index - b.claim.index);
}

/**
 * Adds covers to the same nodes and takes their commitments from the ledger. With `whole`, covers only nodes that can be covered
 * completely.
 */
function covering({ claims, covers }: Housing, ledger: Ledger, whole = false): Housing {
  const all = new Map(covers);
  for (const { claim } of offersFor(claims, ledger)) {
    if (ledger.isEmpty) break;
    // the ledger may have less than when the offers were compared
    const found = bestCover(claim, ledger);
    if (found === undefined || (whole && !found.isWhole)) continue;
    if (claim.usdPerHour - found.usdPerHour <= claim.usdPerHour * SIGNIFICANT) continue;
    ledger.take(found.taken);
    all.set(claim, found.cover);
  }
  return { claims, covers: all };
}

function packedAnew(bought: readonly Claim[], ledger: Ledger, parts: RepackParts): Housing {
  const done = new Map<Claim, ClaimCover>();
  let rest = bought;
  for (let round = 0; round < ROUNDS && !ledger.isEmpty && !parts.isLate(); round++) {
    const besides = [...done.keys()];
    const open = repacked(rest, { ...parts, besides, pricesOf: coveredPrices(ledger) });
    const { covers } = covering({ claims: open, covers: new Map() }, ledger, true);
    if (covers.size === 0) break;
    for (const [claim, cover] of covers) done.set(claim, cover);
    rest = open.filter((claim) => !covers.has(claim));
  }
  const last = repacked(rest, { ...parts, besides: [...done.keys()] });
  const { covers } = covering({ claims: last, covers: done }, ledger);
  return { claims: [...done.keys(), ...last], covers };
}
