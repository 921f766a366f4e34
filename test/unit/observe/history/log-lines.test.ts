/** The log of decisions as lines for people. */
import { describe, expect, it } from '@jest/globals';
import type { LoggedDecision } from '../../../../src/observe/history/decision-log.ts';
import { DecisionLog } from '../../../../src/observe/history/decision-log.ts';
import { historyTexts, newHistory, restoreHistory } from '../../../../src/observe/history/document.ts';
import { logLines, NewLines } from '../../../../src/observe/history/log-lines.ts';

const at = (seconds: number): string => new Date(Date.UTC(2026, 5, 3, 10, 0, seconds)).toISOString();
const size = (nodes: number, usdPerHour: number) => ({ nodes, usdPerHour });

const ENTRIES: readonly LoggedDecision[] = [
  { kind: 'leader', at: at(0), replica: 'karpenter-1', version: '0.1.0' },
  {
    ...{ kind: 'bought', at: at(10), nodeClaim: 'default-a', nodePool: 'default', reason: 'provisioned', pods: 5 },
    ...{ examples: ['shop/web-1', 'shop/web-2', 'ops/db-0'], namespaces: ['ops', 'shop'], usdPerHour: 0.0382 },
    ...{ instanceType: 'c7g.large', capacityType: 'spot', zone: 'us-west-2a', node: 'ip-1', joinedAt: at(44) },
    ...{ before: size(0, 0), after: size(1, 0.0382) },
  },
  {
    ...{ kind: 'refused', at: at(11), code: 'taint', text: 'NodePool "gpu" has the taint x. Tolerate it.' },
    ...{ nodePools: ['gpu'], namespaces: ['ml'], pods: 2, examples: ['ml/train-1', 'ml/train-2'] },
  },
  { kind: 'held', at: at(20), nodePool: 'gpu', reason: 'never-joined', text: 'no node joined', until: at(620) },
  { kind: 'emptying', at: at(30), nodes: 12, nodePools: ['default'], nodeNames: ['ip-1', 'ip-2'] },
  {
    ...{ kind: 'disrupted', at: at(60), id: '1', method: 'multi', decision: 'replace', reason: 'underutilized' },
    ...{
      command: 'replace: [ip-1, ip-2] => c7g.xlarge',
      nodePools: ['default'],
      nodeClaims: ['default-a', 'default-b'],
    },
    ...{ nodeNames: ['ip-1', 'ip-2'], namespaces: ['shop'], nodes: 2, replacements: 1, pods: 3 },
    ...{ predictedUsdPerHour: 0.02, before: size(3, 0.1), after: size(1, 0.05) },
    outcome: { predictedUsd: 0.01, realisedUsd: -0.01, undone: 'provisioned' },
  },
  { kind: 'deleted', at: at(70), nodeClaim: 'default-c', nodePool: 'default', reason: 'expired', pods: 1 },
  { kind: 'deleted', at: at(71), nodeClaim: 'default-a', nodePool: 'default', reason: 'external', pods: 0 },
  { kind: 'deleted', at: at(72), nodeClaim: 'gpu-a', nodePool: 'gpu', reason: 'insufficient_capacity', pods: 0 },
  { kind: 'deleted', at: at(73), nodeClaim: 'gpu-b', nodePool: 'gpu', reason: 'unhealthy', pods: 2, node: 'ip-9' },
  {
    ...{ kind: 'interrupted', at: at(80), nodeClaim: 'default-d', nodePool: 'default', reason: 'spot_interrupted' },
    ...{ pods: 4, instanceType: 'm7g.large', zone: 'us-west-2b', capacityType: 'spot', node: 'ip-4' },
    namespaces: ['shop'],
  },
];

const kinds = (lines: ReturnType<typeof logLines>): readonly string[] => lines.map(({ kind }) => kind);

describe('a log', () => {
  it('has one sentence for each decision, in the order of time, and one for a node that can run pods', () => {
    expect(logLines(ENTRIES).map(({ kind, text }) => `${kind}: ${text}`)).toEqual([
      'leader: karpenter-1 is the leader, version 0.1.0',
      'launch: NodePool default: c7g.large spot us-west-2a at $0.0382/h for 5 pods (shop/web-1, shop/web-2, ops/db-0 and ' +
        '2 more), NodeClaim default-a',
      'refusal: no node for 2 pods (ml/train-1, ml/train-2): NodePool "gpu" has the taint x. Tolerate it.',
      `hold: launches of NodePool gpu are held back until ${at(620)}: no node joined`,
      'emptying: 12 nodes are emptying, kube-scheduler fills them last',
      'join: node ip-1 can run pods, 34 s after its NodeClaim default-a was created',
      'move: underutilized: replace: [ip-1, ip-2] => c7g.xlarge, 3 pods move, saves $0.0200/h; later undone: provisioned',
      'expiration: NodeClaim default-c has expired, 1 pod moves',
      'deletion: node ip-1 was deleted by another client',
      'failure: NodeClaim gpu-a: insufficient capacity',
      'repair: node ip-9 is unhealthy and is replaced, 2 pods move',
      'interruption: AWS interrupts node ip-4 (m7g.large spot us-west-2b): spot interrupted, 4 pods move',
    ]);
  });

  it.each([
    ['a NodePool', { nodePool: 'gpu' }, ['refusal', 'hold', 'failure', 'repair']],
    ['a namespace', { namespace: 'shop' }, ['launch', 'join', 'move', 'interruption']],
    ['a node', { node: 'ip-1' }, ['launch', 'emptying', 'join', 'move', 'deletion']],
    ['a NodeClaim', { node: 'default-a' }, ['launch', 'join', 'move', 'deletion']],
    ['a time', { sinceMs: Date.parse(at(73)) }, ['repair', 'interruption']],
  ])('can be limited to %s', (_, filter, expected) => {
    expect(kinds(logLines(ENTRIES, filter))).toEqual(expected);
  });

  it('survives a restart, without entries that another version or a user made invalid', () => {
    const history = newHistory();
    for (const entry of ENTRIES) history.decisions.record(entry);
    const [text = ''] = historyTexts(history);
    const restored = newHistory();
    restoreHistory(restored, text, Date.parse(at(100)));
    expect(restored.decisions.entries).toEqual(ENTRIES);
    const broken = JSON.parse(text);
    broken.decisions[1].before = { nodes: 'many' };
    broken.decisions[2].namespaces = [1];
    broken.decisions[3].kind = 'dreamt';
    broken.decisions[4].nodeNames = 'ip-1';
    broken.decisions[9].node = {};
    const rest = newHistory();
    restoreHistory(rest, JSON.stringify(broken), Date.parse(at(100)));
    expect(rest.decisions.entries).toEqual(ENTRIES.filter((_, index) => ![1, 2, 3, 4, 9].includes(index)));
  });

  it('has the number and the price of the nodes before and after a decision as soon as they are known', () => {
    const log = new DecisionLog();
    const bought = (nodeClaim: string): LoggedDecision => ({
      ...{ kind: 'bought', at: at(0), nodeClaim, nodePool: 'default', reason: 'provisioned', pods: 1, examples: [] },
      usdPerHour: 0.1,
    });
    const added = (nodeClaim: string) => ({ added: { nodeClaim, usdPerHour: 0.1 } });
    log.record(bought('a'), added('a'));
    log.fleet.measured(
      new Map([
        ['a', 0.3],
        ['b', undefined],
      ]),
    );
    log.record(bought('c'), added('c'));
    log.fleet.measured(
      new Map([
        ['a', 0.25],
        ['b', 0.05],
        ['c', undefined],
      ]),
    );
    const gone = {
      kind: 'deleted',
      at: at(5),
      nodeClaim: 'a',
      nodePool: 'default',
      reason: 'expired',
      pods: 0,
    } as const;
    log.record(gone, { removed: ['a', 'unknown'] });
    expect(logLines(log.entries).map(({ before, after }) => [before, after])).toEqual([
      [undefined, undefined],
      [size(2, 0.3), size(3, 0.4)],
      [size(3, 0.4), size(2, 0.15)],
    ]);
    expect([log.hasRemoved('a'), log.hasRemoved('b')]).toEqual([true, false]);
  });

  it('has one entry for marks in succession', () => {
    const log = new DecisionLog();
    const mark = (seconds: number, nodes: number) =>
      log.marked({ kind: 'emptying', at: at(seconds), nodes, nodePools: [], nodeNames: [] });
    for (const [seconds, nodes] of [
      [0, 1],
      [30, 5],
      [500, 12],
      [700, 3],
    ] as const)
      mark(seconds, nodes);
    log.record({ kind: 'leader', at: at(710), replica: 'a', version: '1' });
    mark(720, 4);
    expect(logLines(log.entries).map((line) => line.text.split(',')[0])).toEqual([
      '12 nodes are emptying',
      '3 nodes are emptying',
      'a is the leader',
      '4 nodes are emptying',
    ]);
  });
});

describe('a reader of new lines', () => {
  it('gets each line once, also a line that appears after later lines, and launches with their instance type', () => {
    const log = new DecisionLog();
    const reader = new NewLines([], Date.parse(at(0)));
    const taken = (): readonly string[] =>
      reader.take(logLines(log.entries, { sinceMs: reader.sinceMs })).map(({ text }) => text);
    log.record({
      ...{ kind: 'bought', at: at(1), nodeClaim: 'a', nodePool: 'p', reason: 'provisioned', pods: 0, examples: [] },
      usdPerHour: 0.1,
    });
    expect(taken()).toEqual([]);
    log.record({ kind: 'leader', at: at(50), replica: 'b', version: '2' });
    log.launched('a', { instanceType: 'm5.large', capacityType: 'spot', zone: 'z' });
    expect(taken()).toEqual(['b is the leader, version 2']);
    expect(taken()).toEqual(['NodePool p: m5.large spot z at $0.1000/h, NodeClaim a']);
    log.joined('a', { node: 'ip-1', joinedAt: at(31) });
    expect(taken()).toEqual(['node ip-1 can run pods, 30 s after its NodeClaim a was created']);
    expect(taken()).toEqual([]);
    log.record({ kind: 'leader', at: at(500), replica: 'c', version: '2' });
    expect(taken()).toEqual(['c is the leader, version 2']);
    expect(reader.sinceMs).toBe(Date.parse(at(440)));
    expect(taken()).toEqual([]);
  });

  it('gets a launch after a pause in which later decisions were made', () => {
    const reader = new NewLines([], 0);
    const launch = logLines([
      {
        ...{ kind: 'bought', at: at(1), nodeClaim: 'a', nodePool: 'p', reason: 'provisioned', pods: 0, examples: [] },
        usdPerHour: 0.1,
      },
    ]);
    const later = logLines([{ kind: 'leader', at: at(900), replica: 'b', version: '2' }]);
    const read = () => {
      const lines = [...launch, ...later].filter((line) => Date.parse(line.at) >= reader.sinceMs);
      return kinds(reader.take(lines));
    };
    expect([read(), read(), read(), read()]).toEqual([['leader'], [], ['launch'], []]);
  });
});
