import { describe, expect, it } from '@jest/globals';
import type { KubeObject } from '#api/objects';
import { LiveDecisions } from '../../../src/live/view.ts';

const object = (kind: string): KubeObject => ({ apiVersion: 'v1', kind, metadata: { name: 'x' } });
const MINUTE = 60_000;
const CLUSTER = { manages: ({ kind }: { readonly kind: string }) => kind === 'MachineClass' };

function topics(kind: string, type: 'Normal' | 'Warning', reason: string, message = 'text'): readonly string[] {
  const log = new LiveDecisions(CLUSTER);
  log.note({ object: object(kind), type, reason, message }, 0);
  return log.list().map(({ topic }) => topic);
}

describe('the log of decisions', () => {
  it.each([
    ['NodeClaim', 'Warning', 'SpotInterrupted', ['interruption']],
    ['NodeClaim', 'Normal', 'DisruptionTerminating', ['disruption']],
    ['NodeClaim', 'Normal', 'Expired', ['disruption']],
    ['NodeClaim', 'Warning', 'InsufficientCapacityError', ['problem']],
    ['NodePool', 'Normal', 'OfferingsAvailable', ['other']],
    ['MachineClass', 'Warning', 'FailedResolution', ['problem']],
    // The event for the NodeClaim contains the same.
    ['Node', 'Warning', 'SpotInterrupted', []],
    ['Node', 'Normal', 'DisruptionTerminating', []],
    ['Node', 'Warning', 'FailedDraining', ['problem']],
    // Listed with the nodes and the pods.
    ['Node', 'Normal', 'DisruptionVerdict', []],
    ['Node', 'Normal', 'Unconsolidatable', []],
    ['Pod', 'Warning', 'FailedScheduling', []],
  ] as const)('maps an event of %s (%s %s) to %j', (kind, type, reason, expected) => {
    expect(topics(kind, type, reason)).toEqual(expected);
  });

  it('ignores condition transitions', () => {
    expect(topics('NodePool', 'Normal', 'Ready', 'Status condition transitioned, Type: Ready')).toEqual([]);
  });

  it('counts repetitions within an hour, and moves the entry to the end', () => {
    const log = new LiveDecisions(CLUSTER);
    const say = (text: string, atMs: number): void => log.add({ atMs, topic: 'problem', object: 'NodePool/x', text });
    say('a', 0);
    say('b', 1);
    const told = log.lastId;
    say('a', 11 * MINUTE);
    expect(log.list().map(({ text, times }) => [text, times])).toEqual([
      ['b', 1],
      ['a', 2],
    ]);
    expect(log.since(told).map(({ text }) => text)).toEqual(['a']);
    say('a', 71 * MINUTE);
    expect(log.list().map(({ times }) => times)).toEqual([1, 2, 1]);
  });

  it('counts repetitions of a problem with another id, and keeps the last text', () => {
    const log = new LiveDecisions(CLUSTER);
    const fail = (id: string): void =>
      log.add({ atMs: 0, topic: 'problem', object: 'EC2NodeClass/x', text: `denied, RequestId: ${id}` });
    fail('0a1b2c3d-0000-4000-8000-0123456789ab');
    fail('1a1b2c3d-0000-4000-8000-0123456789ab');
    log.add({ atMs: 0, topic: 'problem', object: 'EC2NodeClass/x', text: 'denied, another text' });
    expect(log.list().map(({ text, times }) => [text, times])).toEqual([
      ['denied, RequestId: 1a1b2c3d-0000-4000-8000-0123456789ab', 2],
      ['denied, another text', 1],
    ]);
  });

  it('keeps the last five hundred entries', () => {
    const log = new LiveDecisions(CLUSTER);
    for (let index = 0; index < 700; index += 1)
      log.add({ atMs: index, topic: 'other', object: 'NodePool/x', text: `${index}` });
    expect(log.list()).toHaveLength(500);
    expect(log.list()[0]?.text).toBe('200');
  });
});
