/** Replaces nodes that are no longer what their NodePool or NodeClass asks for, one at a time. */
import { getCondition, isTrue } from '../../api/conditions.ts';
import type { Candidate } from './candidates.ts';
import type { Deliberation, Findings, Method, Note } from './method.ts';
import { strandedText } from './simulation.ts';

export const drift: Method = {
  name: 'drift',
  reason: 'Drifted',
  class: 'eventual',
  consolidationType: '',
  filter: ({ nodePool, nodeClaim }) => ({
    eligible: nodePool.spec.replicas === undefined && isTrue(nodeClaim, 'Drifted'),
  }),
  decide,
};

const driftedMs = ({ nodeClaim }: Candidate): number =>
  Date.parse(getCondition(nodeClaim, 'Drifted')?.lastTransitionTime ?? '') || 0;

/** Nodes without pods to move go first, then those that drifted first. */
function inOrder(candidates: readonly Candidate[]): readonly Candidate[] {
  const rank = ({ reschedulablePods }: Candidate): number => (reschedulablePods.length === 0 ? 0 : 1);
  return [...candidates].sort((a, b) => rank(a) - rank(b) || driftedMs(a) - driftedMs(b) || (a.name < b.name ? -1 : 1));
}

async function decide({ candidates, budgets, simulate }: Deliberation): Promise<Findings> {
  const notes: Note[] = [];
  for (const candidate of inOrder(candidates)) {
    if ((budgets.get(candidate.nodePool.metadata.name) ?? 0) === 0) continue;
    const simulation = await simulate([candidate], { sparesQuietNodes: false });
    if (simulation === undefined) continue;
    if (simulation.stranded.size > 0) {
      notes.push({ kind: 'DisruptionBlocked', candidate, message: strandedText(simulation.stranded) });
      continue;
    }
    const { claims, plan } = simulation;
    return {
      commands: [{ reason: 'Drifted', candidates: [candidate], replacements: claims, plan }],
      exhausted: false,
      notes,
    };
  }
  return { commands: [], exhausted: false, notes };
}
