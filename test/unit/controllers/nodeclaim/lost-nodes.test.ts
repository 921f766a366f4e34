import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type NodeClaim, POD } from '#api/objects';
import { ApiError } from '#kube/client';
import { LostNodes } from '../../../../src/controllers/nodeclaim/lost-nodes.ts';
import { bench, nodeOf, podOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
const HOUR = 60 * MINUTE;
const DELETED = 'delete NodeClaim claim-1';
type Bench = ReturnType<typeof bench>;

const providerID = (number: number): string => `aws:///zone-a/i-${number}`;
const numbered = (number: number): NodeClaim => {
  const claim = settledClaim(`claim-${number}`);
  return { ...claim, status: { ...claim.status, nodeName: `node-${number}`, providerID: providerID(number) } };
};
const nodeNumbered = (number: number, name = `node-${number}`) => ({
  ...nodeOf(name),
  spec: { providerID: providerID(number) },
});
const start = (...claims: readonly NodeClaim[]): Bench => {
  const b: Bench = bench([], (deps) => [new LostNodes(deps)]);
  for (const claim of claims) b.put(NODE_CLAIM, claim);
  return b;
};

describe('a registered NodeClaim without a Node', () => {
  it('is deleted if no kubelet registers within two minutes', async () => {
    const b = start(numbered(1));
    await b.clock.advance(2 * MINUTE - SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([DELETED]);
    expect(b.reasons()).toEqual(['NodeLost']);
  });

  it('stays if its kubelet registers again in time, and waits anew if the Node is removed again', async () => {
    const b = start(numbered(1));
    await b.clock.advance(MINUTE);
    b.put(NODE, nodeNumbered(1, 'other-name'));
    await b.clock.advance(5 * MINUTE);
    b.remove(NODE, nodeNumbered(1, 'other-name'));
    await b.clock.advance(2 * MINUTE - SECOND);
    expect(b.calls).toEqual([]);
    await b.clock.advance(MINUTE);
    expect(b.calls).toEqual([DELETED]);
  });

  it.each([
    { when: 'by name', node: nodeNumbered(2, 'node-1') },
    { when: 'by provider ID', node: nodeNumbered(1, 'other-name') },
  ])('stays if the API server has the Node $when, but the watch has not delivered it', async ({ node }) => {
    const b = start(numbered(1));
    b.world.unseenNode = node;
    await b.clock.advance(HOUR);
    expect(b.calls).toEqual([]);
  });

  it('stays while the Nodes or the pods cannot be read', async () => {
    const b = start(numbered(1));
    for (const kind of ['Node', 'Pod']) {
      b.world.failure = (operation) =>
        operation === `list ${kind}` ? new ApiError(500, 'InternalError', 'a bad day') : undefined;
      await b.clock.advance(10 * MINUTE);
      expect(b.calls).toEqual([]);
    }
    b.world.failure = () => undefined;
    await b.clock.advance(11 * MINUTE);
    expect(b.calls).toEqual([DELETED]);
  });

  it('stays while pods are bound to its node, and delays no other NodeClaim', async () => {
    const b = start(numbered(1), numbered(2), numbered(3));
    for (const number of [2, 3]) b.put(POD, podOf(`pod-${number}`, { nodeName: `node-${number}` }));
    b.put(NODE, nodeNumbered(3));
    await b.clock.advance(4 * MINUTE);
    expect(b.calls).toEqual([DELETED]);
    b.gone('pod-2');
    await b.clock.advance(11 * MINUTE);
    expect(b.calls).toEqual([DELETED, 'delete NodeClaim claim-2']);
  });

  it.each([
    {
      of: 'a NodeClaim that is not registered',
      claim: { ...numbered(1), status: { providerID: providerID(1), nodeName: 'n' } },
    },
    {
      of: 'a NodeClaim of another provider',
      claim: { ...numbered(1), spec: { ...numbered(1).spec, nodeClassRef: { group: 'x', kind: 'X', name: 'x' } } },
    },
    {
      of: 'a NodeClaim that is being deleted',
      claim: { ...numbered(1), metadata: { ...numbered(1).metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } },
    },
  ])('does not include $of', async ({ claim }) => {
    const b = start(claim);
    await b.clock.advance(HOUR);
    expect(b.calls).toEqual([]);
  });

  it('waits an hour if many Nodes were removed, and then ends within the share of ten minutes', async () => {
    const b = start(...Array.from({ length: 20 }, (_, at) => numbered(at)));
    await b.clock.advance(30 * MINUTE);
    expect(b.calls).toEqual([]);
    await b.clock.advance(40 * MINUTE);
    expect(b.calls.length).toBeGreaterThan(0);
    expect(b.calls.length).toBeLessThanOrEqual(4);
    expect(b.lines.some(({ message }) => message.startsWith('many nodes no longer exist'))).toBe(true);
    await b.clock.advance(4 * HOUR);
    expect(new Set(b.calls).size).toBe(20);
  });
});
