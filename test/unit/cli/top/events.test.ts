/** Events of the operator in `karpenter top`. */
import { beforeEach, describe, expect, it } from '@jest/globals';
import type { KubeEvent, Pod } from '#api/objects';
import { EventReader } from '../../../../src/cli/top/watch.ts';

const event = (name: string, more: Partial<KubeEvent> = {}): KubeEvent => ({
  apiVersion: 'v1',
  kind: 'Event',
  metadata: { name, uid: name },
  involvedObject: { kind: 'NodeClaim', name: 'default-a' },
  reason: 'Launched',
  message: name,
  type: 'Normal',
  count: 1,
  lastTimestamp: '2026-06-01T12:00:00Z',
  ...more,
});

describe('EventReader', () => {
  let said: string[];
  let decisions: (readonly [string, number])[];
  let reader: EventReader;
  beforeEach(() => {
    said = [];
    decisions = [];
    const view = {
      note: (...notes: readonly { readonly message: string }[]) =>
        void said.push(...notes.map(({ message }) => message)),
      decisions: {
        note: ({ message }: { readonly message: string }, atMs: number) => void decisions.push([message, atMs]),
      },
    };
    const pod: Pod = {
      apiVersion: 'v1',
      kind: 'Pod',
      metadata: { name: 'db-0', namespace: 'shop', uid: 'new' },
      spec: { containers: [] },
    };
    reader = new EventReader(view, { get: ({ name }) => (name === 'db-0' ? pod : undefined) });
  });

  it('passes events in the order of their times, with these times', () => {
    reader.read([event('second'), event('first', { lastTimestamp: '2026-06-01T11:00:00Z' })]);
    expect(decisions).toEqual([
      ['first', Date.parse('2026-06-01T11:00:00Z')],
      ['second', Date.parse('2026-06-01T12:00:00Z')],
    ]);
  });

  it('passes an event again only if it was repeated', () => {
    reader.read([event('same')]);
    reader.read([event('same')]);
    reader.read([event('same', { count: 2 })]);
    expect(decisions.map(([message]) => message)).toEqual(['same', 'same']);
  });

  it('leaves out events of an earlier pod with the same name', () => {
    const about = (uid: string) => ({ involvedObject: { kind: 'Pod', name: 'db-0', namespace: 'shop', uid } });
    reader.read([event('of the old pod', about('old')), event('of the new pod', about('new'))]);
    expect(said).toEqual(['of the new pod']);
  });

  it('reads the latest verdict on each node from its event', () => {
    const verdict = (name: string, message: string, lastTimestamp: string) =>
      event(name, { reason: 'DisruptionVerdict', involvedObject: { kind: 'Node', name: 'a' }, message, lastTimestamp });
    reader.read([
      verdict('new', 'PDB web allows no eviction (in 3m) [pdb]', '2026-06-01T12:00:00Z'),
      verdict('old', 'Node is nominated [nominated]', '2026-06-01T11:00:00Z'),
      verdict('other', 'without a code', '2026-06-01T13:00:00Z'),
    ]);
    expect([...reader.verdicts.values()]).toEqual([
      { node: 'a', code: 'pdb', text: 'PDB web allows no eviction (in 3m)', methods: [] },
    ]);
    const blocked = {
      reason: 'DisruptionBlocked',
      message: 'Node is nominated',
      lastTimestamp: '2026-06-01T14:00:00Z',
    };
    reader.read([
      verdict('new', 'PDB web allows no eviction [pdb]', '2026-06-01T12:00:00Z'),
      event('of the node', { ...blocked, involvedObject: { kind: 'Node', name: 'a' } }),
      event('of its claim', { ...blocked, involvedObject: { kind: 'NodeClaim', name: 'a' }, message: 'of the claim' }),
    ]);
    expect([...reader.verdicts.values()]).toEqual([
      { node: 'a', code: 'not disrupted', text: 'Node is nominated', methods: [] },
    ]);
  });
});
