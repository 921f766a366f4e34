/** The taint and the condition of nodes that are being disrupted. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import { DISRUPTED_TAINT, NODE, NODE_CLAIM, type Node, type Taint } from '#api/objects';
import type { StateNode } from '#engine/model';
import { ApiError } from '#kube/client';
import { hasReason, isTainted, mark, untaint, withdrawReason } from '../../../../src/controllers/disruption/marks.ts';
import { MemoryKube } from '../../../support/memory-kube.ts';
import { claim, stateNode } from '../../engine/disruption/objects.ts';
import { type VirtualClock, virtualClock } from '../../virtualclock.ts';
import { conditionOf } from '../harness.ts';

let clock: VirtualClock;
let kube: MemoryKube;
beforeEach(() => {
  clock = virtualClock();
  kube = new MemoryKube(clock);
});

const OTHER: Taint = { key: 'example.com/other', effect: 'NoSchedule' };
const FIRMER: Taint = { ...DISRUPTED_TAINT, effect: 'NoExecute' };

/** A node and its claim in the API server. The state is the earlier content of the cache. */
function withNode(taints: readonly Taint[], more: Partial<Node['metadata']> = {}): StateNode {
  const state = stateNode('n', { claim: claim('n') });
  const { node, nodeClaim } = state;
  if (node === undefined || nodeClaim === undefined) throw new Error('expected both objects');
  kube.create(NODE_CLAIM, nodeClaim);
  kube.create(NODE, { ...node, metadata: { ...node.metadata, ...more }, spec: { ...node.spec, taints } });
  return state;
}
const writer = () => ({ client: kube.client(new AbortController().signal), clock });
const taintsNow = (): readonly Taint[] => kube.get(NODE, { name: 'n' }).spec?.taints ?? [];
/** Runs work that may sleep between its attempts. */
async function done(work: Promise<void>): Promise<void> {
  const settled = work.then(
    () => undefined,
    (error: unknown) => error,
  );
  await clock.advance(1_000);
  const error = await settled;
  if (error !== undefined) throw error;
}

describe('the disruption taint', () => {
  it.each([
    { when: 'the node has no taint', before: [], after: [DISRUPTED_TAINT] },
    { when: 'the node has other taints', before: [OTHER, FIRMER], after: [OTHER, FIRMER, DISRUPTED_TAINT] },
    { when: 'the node has the taint', before: [DISRUPTED_TAINT, OTHER], after: [DISRUPTED_TAINT, OTHER] },
    {
      when: 'the node has the taint with a value',
      before: [{ ...DISRUPTED_TAINT, value: 'x' }],
      after: [{ ...DISRUPTED_TAINT, value: 'x' }],
    },
  ])('is on the node exactly once if $when', async ({ before, after }) => {
    await done(mark(writer(), withNode(before), 'Empty'));
    expect(taintsNow()).toEqual(after);
  });

  it.each([
    { when: 'the node has no other taint', before: [DISRUPTED_TAINT], after: [] },
    { when: 'the node has other taints', before: [OTHER, DISRUPTED_TAINT, FIRMER], after: [OTHER, FIRMER] },
    { when: 'the taint has a value', before: [{ ...DISRUPTED_TAINT, value: 'x' }], after: [] },
  ])('is removed without other changes if $when', async ({ before, after }) => {
    await done(untaint(writer(), withNode(before)));
    expect(taintsNow()).toEqual(after);
  });

  it('stays on a node that is being deleted, because termination added it', async () => {
    const state = withNode([DISRUPTED_TAINT], { finalizers: ['karpenter.sh/termination'] });
    kube.delete(NODE, { name: 'n' });
    await done(untaint(writer(), state));
    expect(taintsNow()).toEqual([DISRUPTED_TAINT]);
  });

  it('is ignored on a node without a claim', async () => {
    const { nodeClaim: _, ...state } = withNode([DISRUPTED_TAINT]);
    expect(isTainted({ ...state, node: kube.get(NODE, { name: 'n' }) })).toBe(false);
    await done(untaint(writer(), state));
    expect(taintsNow()).toEqual([DISRUPTED_TAINT]);
  });
});

describe('the disruption condition', () => {
  it('has the reason, and is removed again', async () => {
    const state = withNode([]);
    await done(mark(writer(), state, 'Underutilized'));
    const marked = kube.get(NODE_CLAIM, { name: 'n' });
    expect(marked.status?.conditions).toContainEqual(
      expect.objectContaining({
        type: 'DisruptionReason',
        status: 'True',
        reason: 'Underutilized',
        message: 'Underutilized',
      }),
    );
    expect(hasReason({ ...state, nodeClaim: marked })).toBe(true);
    expect(hasReason({ ...state, nodeClaim: marked, initialized: false })).toBe(false);
    await done(withdrawReason(writer(), state));
    expect(conditionOf(kube.get(NODE_CLAIM, { name: 'n' }), 'DisruptionReason')).toBeUndefined();
  });
});

describe('the pair of taint and condition', () => {
  it('is written again after a conflict', async () => {
    const state = withNode([]);
    let hits = 0;
    kube.beforeWrite = (operation) => {
      if (operation !== 'patch nodes' || ++hits > 3) return;
      throw new ApiError(409, 'Conflict', 'the object has been modified');
    };
    await done(mark(writer(), state, 'Empty'));
    expect(taintsNow()).toEqual([DISRUPTED_TAINT]);
  });

  it('fails after four attempts', async () => {
    const state = withNode([]);
    let tries = 0;
    kube.beforeWrite = () => {
      tries += 1;
      throw new ApiError(500, 'InternalError', 'out of order');
    };
    await expect(done(mark(writer(), state, 'Empty'))).rejects.toThrow('out of order');
    expect(tries).toBe(4);
  });

  it('is skipped for deleted objects', async () => {
    const state = withNode([DISRUPTED_TAINT]);
    kube.delete(NODE, { name: 'n' });
    kube.delete(NODE_CLAIM, { name: 'n' });
    await done(mark(writer(), state, 'Empty'));
    await done(untaint(writer(), state));
    await done(withdrawReason(writer(), state));
    expect(kube.all(NODE)).toEqual([]);
  });
});
