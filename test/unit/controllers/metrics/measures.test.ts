import { describe, expect, it } from '@jest/globals';
import type { Evaluation, Method } from '#engine/disruption';
import { createMetrics } from '#observe/setup';
import { observeEvaluations } from '../../../../src/controllers/disruption/measures.ts';
import { pool } from '../../engine/disruption/objects.ts';

const view = (name: string, approved: boolean): Evaluation => ({
  nodePool: pool(name),
  policy: 'Balanced',
  approved,
  score: approved ? 1.5 : 0.2,
  text: '',
});

describe('observeEvaluations', () => {
  it.each<[Method['consolidationType'], string]>([
    ['multi', 'rejected'],
    ['single', 'approved'],
  ])('counts an approving NodePool beside a rejecting one for the method %s as %s', async (type, decision) => {
    const metrics = createMetrics();
    const evaluations = [view('a', true), view('b', false)];
    const method = { consolidationType: type } as Method;
    observeEvaluations(metrics, method, { commands: [], exhausted: false, events: [], evaluations });
    const text = await metrics.text();
    const series = (name: string, labels: string): RegExp =>
      new RegExp(`karpenter_${name}\\{${labels},policy="Balanced"\\} 1`);
    expect(text).toMatch(series('consolidation_moves_total', `decision="${decision}",nodepool="a"`));
    expect(text).toMatch(series('consolidation_moves_total', 'decision="rejected",nodepool="b"'));
    // The score is that of the NodePool in both cases.
    expect(text).toMatch(series('consolidation_score_bucket', 'le="2",decision="approved",nodepool="a"'));
    expect(text).toMatch(series('consolidation_score_bucket', 'le="0.25",decision="rejected",nodepool="b"'));
  });
});
