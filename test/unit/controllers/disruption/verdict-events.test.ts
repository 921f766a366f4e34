import { afterEach, beforeEach, describe, expect, it, jest } from '@jest/globals';
import { NODE, NODE_POOL } from '#api/objects';
import { type Candidate, type Method, type Verdict, VerdictHistory } from '#engine/disruption';
import type { StateNode } from '#engine/model';
import type { EventNote } from '#kube/reconcilers';
import { silent } from '#observe/logger';
import { verdictEvents } from '../../../../src/controllers/disruption/verdict-events.ts';
import { partial } from '../../../support/partial.ts';
import { present } from '../../../support/present.ts';
import { virtualClock } from '../../virtualclock.ts';
import { World } from '../harness.ts';

let world: World;
beforeEach(() => {
  world = new World();
});
afterEach(() => world.kill());

describe('the history of verdicts', () => {
  it('contains the reasons of every pass', async () => {
    const history = new VerdictHistory();
    const only = (): Verdict | undefined => history.verdicts(world.cluster.nodes(), world.clock.now())[0];
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '0' }] } });
    world.start([], history);
    await world.pass(2);
    world.pending(1, '7');
    await world.pass(60);
    expect(only()).toMatchObject({ nodePool: 'default', code: 'budget' });

    world.removePods(...world.pods);
    await world.pass(40);
    expect(only()).toMatchObject({ code: 'budget', object: { kind: 'NodePool', name: 'default' } });
    expect(only()?.methods.find(({ method }) => method === 'single-node consolidation')?.code).toBe('empty');

    world.kube.patch(NODE_POOL, { name: 'default' }, { spec: { disruption: { budgets: [{ nodes: '100%' }] } } });
    await world.pass(15);
    expect(only()).toMatchObject({ code: 'chosen', command: { method: 'emptiness', decision: 'delete' } });
    await world.pass(90);
    expect(world.nodes).toEqual([]);
    expect(only()).toBeUndefined();
  });
});

describe('a verdict', () => {
  it('is reported already if a method publishes its text on the same node', () => {
    const history = new VerdictHistory();
    const candidateOf = (providerId: string) => partial<Candidate>({ providerId });
    const reason = (text: string) => ({ code: 'not-cheaper', text }) as const;
    history.record({
      method: partial<Method>({ name: 'single-node consolidation' }),
      blocks: new Map([['a', { code: 'pdb', text: 'blocked' }]]),
      declined: new Map([
        ['b', { candidate: candidateOf('b'), reason: reason('declined'), isReported: true }],
        ['c', { candidate: candidateOf('c'), reason: reason('declined'), isReported: false }],
      ]),
      candidates: [],
      allowances: new Map(),
      result: {
        commands: [],
        exhausted: true,
        events: [{ kind: 'Unconsolidatable', candidate: candidateOf('d'), message: 'too expensive' }],
      },
    });
    const isReported = (providerId: string, text: string): boolean => history.isReported({ providerId }, text);
    expect([isReported('a', 'blocked'), isReported('b', 'declined'), isReported('d', 'too expensive')]).toEqual([
      true,
      true,
      true,
    ]);
    expect([isReported('b', 'blocked'), isReported('c', 'declined'), isReported('a', 'too expensive')]).toEqual([
      false,
      false,
      false,
    ]);
  });
});

describe('the verdict event of a Node', () => {
  const told = (): readonly string[] =>
    world.events.filter(({ reason }) => reason === 'DisruptionVerdict').map(({ message }) => message);

  it('is published after its reason is stable, and again only for another reason', async () => {
    world.nodePool('default', { disruption: { consolidateAfter: '0s', budgets: [{ nodes: '0' }] } });
    const history = new VerdictHistory();
    world.start([], history);
    await world.pass(2);
    world.pending(1, '7');
    await world.pass(60);
    const [node] = world.nodes;
    const first = told();
    expect(first.at(-1)).toMatch(
      /^The budgets of its NodePool allow no further disruption .* \(0 of 1 nodes .*\) \[budget\]$/,
    );
    expect(world.events.findLast(({ reason }) => reason === 'DisruptionVerdict')?.object).toMatchObject({
      kind: 'Node',
      metadata: { name: node?.metadata.name },
    });

    await world.pass(300);
    expect(told()).toEqual(first);

    world.kube.patch(
      NODE,
      { name: present(node?.metadata.name) },
      {
        metadata: { annotations: { 'karpenter.sh/do-not-disrupt': 'true' } },
      },
    );
    await world.pass(40);
    // one event for one fact
    expect(told()).toEqual(first);
    const blocked = world.events.filter(
      ({ reason, object }) => reason === 'DisruptionBlocked' && object.kind === 'Node',
    );
    expect(blocked.at(-1)?.message).toMatch(/annotation/);
    expect(history.verdicts(world.cluster.nodes(), world.clock.now())[0]?.code).toBe('do-not-disrupt');
  });

  it('is published for many nodes in small batches', async () => {
    const history = new VerdictHistory();
    const asked = Array.from({ length: 150 }, (_, at) => `node-${at}`);
    jest.spyOn(history, 'verdicts').mockImplementation((nodes) =>
      nodes.map(({ name }) => ({
        node: name,
        code: 'budget',
        text: 'no',
        methods: [{ method: 'drift', code: 'budget', text: 'no' }],
      })),
    );
    const clock = virtualClock();
    const events: EventNote[] = [];
    const nodes = asked.map((name) => ({ name, node: { metadata: { name } } }) as StateNode);
    const tell = verdictEvents(
      {
        clock,
        cluster: { nodes: () => nodes },
        events: { publish: (...notes) => void events.push(...notes) },
      },
      history,
    );
    const counts: number[] = [];
    for (let look = 0; look < 4; look += 1) {
      await tell.reconcile({ log: silent, signal: new AbortController().signal });
      counts.push(events.length);
      await clock.advance(10_000);
    }
    expect(counts).toEqual([0, 100, 150, 150]);
  });
});
