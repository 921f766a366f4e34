import { describe, expect, it } from '@jest/globals';
import { NODE, NODE_CLAIM, type NodeClaim } from '#api/objects';
import { ApiError } from '#kube/client';
import { consistency } from '../../../../src/controllers/nodeclaim/consistency.ts';
import { bench, nodeOf, settledClaim } from '../node/bench.ts';

const SECOND = 1_000;
const MINUTE = 60 * SECOND;
type Bench = ReturnType<typeof bench>;

describe('consistency', () => {
  const start = (): Bench => bench([], (deps) => [consistency(deps)]);
  const bought = (more: Partial<NodeClaim> = {}): NodeClaim => {
    const claim = settledClaim('claim', { capacity: { cpu: '10', memory: '10Gi', 'example.com/gpu': '0' } });
    const requests = { cpu: '1', memory: '0', 'example.com/gpu': '1' };
    return { ...claim, spec: { ...claim.spec, resources: { requests } }, ...more };
  };
  const node = (cpu: string) => {
    const base = nodeOf('node');
    return { ...base, status: { ...base.status, capacity: { cpu, memory: '1Gi' } } };
  };
  const STATE = 'ConsistentStateFound';

  it.each([
    { cpu: '9', state: 'True/ConsistentStateFound', issues: [] },
    {
      cpu: '8990m',
      state: 'False/ConsistencyCheckFailed',
      issues: ['expected 10 of resource cpu, but found 8990m (89.9% of expected)'],
    },
    {
      cpu: '0',
      state: 'False/ConsistencyCheckFailed',
      issues: ['expected 10 of resource cpu, but found 0 (0.0% of expected)'],
    },
  ])('is $state with $cpu of 10 processors', async ({ cpu, state, issues }) => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    b.put(NODE, node(cpu));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe(state);
    expect(b.events.map(({ type, reason, message, dedupe }) => [type, reason, message, dedupe])).toEqual(
      issues.map((issue) => ['Warning', 'FailedConsistencyCheck', issue, ['uid-claim', issue]]),
    );
    expect(
      b.lines.filter(({ message }) => message === 'failed consistency check').map(({ fields }) => fields.issue),
    ).toEqual(issues);
  });

  it.each([
    {
      what: 'that is being deleted',
      claim: bought({ metadata: { ...bought().metadata, deletionTimestamp: '2026-01-01T00:00:00Z' } }),
    },
    { what: 'that is not initialized', claim: bought({ status: { ...bought().status, conditions: [] } }) },
  ])('ignores the shape of a node $what', async ({ claim }) => {
    const b = start();
    b.put(NODE_CLAIM, claim);
    b.put(NODE, node('1'));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('checks once every ten minutes, even if the claim changes', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    b.put(NODE, node('1'));
    await b.clock.advance(9 * MINUTE);
    b.put(NODE, node('2'));
    await b.clock.advance(58 * SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
    await b.clock.advance(2 * SECOND);
    expect(b.condition('claim', STATE)).toBe('False/ConsistencyCheckFailed');
  });

  it('waits for the next check if there is no Node, and until a second Node is deleted', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought());
    await b.clock.advance(MINUTE);
    const double = { ...node('10'), metadata: { ...node('10').metadata, name: 'double', uid: 'double' } };
    b.put(NODE, double);
    b.put(NODE, node('10'));
    await b.clock.advance(10 * MINUTE);
    expect(b.condition('claim', STATE)).toBeUndefined();
    b.remove(NODE, double);
    await b.clock.advance(8 * MINUTE);
    expect(b.condition('claim', STATE)).toBeUndefined();
    await b.clock.advance(2 * MINUTE);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('checks again after a rejected write and after an earlier claim with the same name', async () => {
    const b = start();
    let refusals = 2;
    b.world.failure = (operation) =>
      operation === 'patch NodeClaim' && refusals-- > 0 ? new ApiError(409, 'Conflict', 'modified') : undefined;
    const first = b.put(NODE_CLAIM, bought());
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
    b.remove(NODE_CLAIM, first);
    b.put(NODE_CLAIM, { ...bought(), metadata: { ...bought().metadata, uid: 'successor' } });
    await b.clock.advance(SECOND);
    expect(b.condition('claim', STATE)).toBe('True/ConsistentStateFound');
  });

  it('ignores claims without an instance and claims that Karpenter does not manage', async () => {
    const b = start();
    b.put(NODE_CLAIM, bought({ status: { conditions: [] } }));
    const foreign = { group: 'other.example.com', kind: 'Machine', name: 'x' };
    b.put(NODE_CLAIM, { ...settledClaim('foreign'), spec: { ...bought().spec, nodeClassRef: foreign } });
    b.put(NODE, node('10'));
    await b.clock.advance(SECOND);
    expect(b.writesTo('NodeClaim')).toBe(0);
  });
});
