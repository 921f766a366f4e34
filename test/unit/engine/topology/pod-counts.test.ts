import { describe, expect, it } from '@jest/globals';
import type { StateNode } from '../../../../src/engine/model.ts';
import type { Rule } from '../../../../src/engine/topology/group.ts';
import { PodCounts } from '../../../../src/engine/topology/pod-counts.ts';
import { pod, replicas, stateNode } from '../build.ts';

const ruleFor = (app: string): Rule =>
  ({ selector: { matchLabels: { app } }, namespaces: new Set(['default']) }) as unknown as Rule;

const nodeWith = (name: string, web: number): StateNode =>
  stateNode(name, { pods: [...replicas(web, `${name}-web`, { labels: { app: 'web' } }), pod(`${name}-other`)] });

/** Number of pods of the workload by node name. */
function webOn(nodes: readonly StateNode[], counts = PodCounts.shared()): Record<string, number> {
  const found: Record<string, number> = {};
  for (const part of counts.countedBy(ruleFor('web'), nodes))
    for (const [{ name }, count] of part) found[name] = (found[name] ?? 0) + count;
  return found;
}

describe('the count of running pods', () => {
  const [one, two, three] = [nodeWith('one', 1), nodeWith('two', 2), nodeWith('three', 3)];

  it('follows each change of the cluster', () => {
    expect(webOn([one, two])).toEqual({ one: 1, two: 2 });
    expect(webOn([two, three])).toEqual({ two: 2, three: 3 });
    expect(webOn([three, nodeWith('two', 5)])).toEqual({ two: 5, three: 3 });
    expect(webOn([])).toEqual({});
  });

  it('remains correct for readers of an earlier state', () => {
    const [before, now] = [
      [one, two],
      [two, three],
    ];
    const counts = PodCounts.shared();
    for (let turn = 0; turn < 3; turn++) {
      expect(webOn(before, counts)).toEqual({ one: 1, two: 2 });
      expect(webOn(now, counts)).toEqual({ two: 2, three: 3 });
    }
  });

  it('excludes finished and terminating pods, and nodes that have not registered', () => {
    const running = pod('a', { labels: { app: 'web' } });
    const finished = { ...running, status: { phase: 'Succeeded' as const } };
    const node = stateNode('mixed', { pods: [running, finished] });
    const { node: _, ...launching } = stateNode('launching', { pods: [running] });
    expect(webOn([node, launching])).toEqual({ mixed: 1 });
  });
});
