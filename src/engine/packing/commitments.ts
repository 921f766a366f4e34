/**
 * Has the nodes of a plan use what is left of Savings Plans and reserved instances. A node that is covered costs nothing more,
 * so it is on-demand, of a type that is covered, even where spot is sold for less than on-demand.
 *
 * Three plans are compared by what they add to the bill: that of before; the same nodes, those covered for which it saves
 * most; and nodes packed anew for what is left. The latter are packed in rounds: nodes of covered types as if nothing would
 * run out, of which those stay that can be covered whole; the pods of the others are packed again for what is then left, and in
 * the end without commitments.
 */
import { coverageOf, type RunningInstance } from '../price-book/coverage.ts';
import type { Ledger } from '../price-book/ledger.ts';
import type { Claim, ClaimCover } from '../solver/claim.ts';
import { bestCover, coveredPrices, isCoverable, onDemandUsage } from '../solver/cover.ts';
import { type RepackParts, repacked } from './repack.ts';

/** Each round packs the pods of all nodes that are not covered yet. */
const ROUNDS = 4;
/** Less than this part of a price is no reason to choose other nodes. */
const SIGNIFICANT = 1e-6;

/** Claims, and how those are bought that use commitments. */
interface Housing {
  readonly claims: readonly Claim[];
  readonly covers: ReadonlyMap<Claim, ClaimCover>;
}

/**
 * @param packed the claims as they are without commitments
 * @param bought the claims that those were packed from
 * @param ledger what is left of commitments; it stays as it is
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

/** What the nodes add to the bill, as AWS applies commitments to them. */
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

/** Claims that some cover makes cheaper, those first that save the largest part of what commitments take on. */
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

/** The same nodes; takes what their covers use out of the ledger. With `whole` those alone that are covered whole. */
function covering({ claims, covers }: Housing, ledger: Ledger, whole = false): Housing {
  const all = new Map(covers);
  for (const { claim } of offersFor(claims, ledger)) {
    if (ledger.isEmpty) break;
    // less may be left by now than when the offers were compared
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
