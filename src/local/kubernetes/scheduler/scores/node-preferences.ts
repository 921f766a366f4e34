/** Scores by a node's taints and labels. */

import { tolerates } from '../../../../engine/taints.ts';
import { matchesTerm } from '../selectors.ts';
import { BEST, normalizeScores, type Score } from './score.ts';

/** TaintToleration: prefers nodes with few untolerated PreferNoSchedule taints. */
export const preferredTaints: Score = (pod, _cluster, nodes) => {
  const untolerated = nodes.map(
    ({ node }) =>
      (node.spec?.taints ?? []).filter(
        (taint) =>
          taint.effect === 'PreferNoSchedule' &&
          !pod.spec.tolerations?.some((toleration) => tolerates(toleration, taint)),
      ).length,
  );
  return normalizeScores(untolerated).map((one) => BEST - one);
};

/** NodeAffinity: sum of the weights of matching preferred terms. */
export const preferredNodes: Score = (pod, _cluster, nodes) => {
  const terms = pod.spec.affinity?.nodeAffinity?.preferredDuringSchedulingIgnoredDuringExecution;
  if (!terms?.length) return undefined;
  const weights = nodes.map(({ node }) =>
    terms.reduce((sum, { weight, preference }) => sum + (matchesTerm(preference, node) ? weight : 0), 0),
  );
  return normalizeScores(weights);
};
