/** Limits the number of new nodes of a plan. */
import { interleave } from '#lib';
import type { Plan } from '../model.ts';

/** Limits the number of claims of a plan, so that the caller can launch them. The namespaces of the claims take turns. */
export function withFewerClaims(plan: Plan, most: number): Plan {
  if (plan.claims.length <= most) return plan;
  const byNamespace = Map.groupBy(plan.claims, ({ pods: [first = ''] }) => first.slice(0, first.indexOf('/')));
  const kept = new Set(interleave([...byNamespace.values()]).slice(0, most));
  const later = plan.claims.filter((claim) => !kept.has(claim)).flatMap(({ pods }) => pods);
  return {
    ...plan,
    claims: plan.claims.filter((claim) => kept.has(claim)),
    notEvaluated: [...plan.notEvaluated, ...later],
  };
}
