/** Launches of gangs: all NodeClaims for the pods of a gang are created together. */
import type { Pod } from '../../api/kubernetes.ts';
import { gangMarkOf } from '../../engine/gangs/gang-mark.ts';
import type { PlannedClaim } from '../../engine/model.ts';

/** Returns the ids of the gangs of pods. */
export const gangsOf = (keys: readonly string[], pods: ReadonlyMap<string, Pod>): ReadonlySet<string> =>
  new Set(keys.flatMap((key) => gangMarkOf(pods.get(key) ?? NO_POD)?.id ?? []));

const NO_POD: Pod = { apiVersion: 'v1', kind: 'Pod', metadata: { name: '' }, spec: { containers: [] } };

/**
 * Returns the claims that wait, so that no gang is launched in part. A gang waits only if all its claims must wait.
 * Otherwise an allowance that is smaller than the gang would hold it back for ever.
 */
export function wholeGangs(
  claims: readonly PlannedClaim[],
  short: ReadonlySet<PlannedClaim>,
  pods: ReadonlyMap<string, Pod>,
): ReadonlySet<PlannedClaim> {
  if (short.size === 0) return short;
  const admitted = new Set<string>();
  const openClaims = new Set(claims.filter((claim) => !short.has(claim)));
  for (const claim of openClaims) for (const gang of gangsOf(claim.pods, pods)) admitted.add(gang);
  // gangs that share a node are launched together
  for (let isGrowing = true; isGrowing; ) {
    isGrowing = false;
    for (const claim of claims) {
      const gangs = gangsOf(claim.pods, pods);
      if (openClaims.has(claim) || ![...gangs].some((gang) => admitted.has(gang))) continue;
      openClaims.add(claim);
      for (const gang of gangs) admitted.add(gang);
      isGrowing = true;
    }
  }
  return new Set(claims.filter((claim) => !openClaims.has(claim)));
}
