import { describe, expect, it } from '@jest/globals';
import { misjudged, needsServer, otherWording, outcomeOf, readCrdCases } from './crdcases.ts';

const cases = readCrdCases();
const offline = cases.filter((test) => needsServer(test) === undefined);

/**
 * Cases of the strict decoder, whose message contains the kind and version of the request and is written by the server.
 */
const wordedByServer = (id: string): boolean => id.includes('-strict-');

describe('a CRD compared with a real API server', () => {
  it('has cases of every kind, few of which need a server', () => {
    expect(new Set(offline.map(({ kind }) => kind)).size).toBe(5);
    expect(offline.length).toBeGreaterThan(860);
    expect(cases.length - offline.length).toBeLessThan(10);
  });

  it.each(
    offline.map((test) => [test.id, test.note, test] as const),
  )('has the outcome of the real server: %s: %s', (_id, _note, test) => {
    expect(misjudged(test, outcomeOf(test))).toBeUndefined();
  });

  it('returns every cause with the message of the real server', () => {
    const others = offline
      .filter(({ id }) => !wordedByServer(id))
      .flatMap((test) => otherWording(test, outcomeOf(test)).map((words) => `${test.id}: ${words}`));
    expect(others).toEqual([]);
  });

  it('reports a wrong outcome', () => {
    const rejected = offline.find(({ accepted, causes }) => !accepted && causes?.some(({ rule }) => rule));
    const accepted = offline.find((test) => test.accepted && test.spec !== undefined);
    if (!rejected || !accepted) throw new Error('Expected a rejected and an accepted case');
    expect(misjudged(rejected, { accepted: true, returned: {} })).toMatch('must be rejected');
    expect(misjudged(accepted, { accepted: true, returned: { other: 1 } })).toMatch('wanted');
    const [cause] = rejected.causes ?? [];
    if (!cause) throw new Error('Expected a cause');
    expect(misjudged(rejected, { accepted: false, causes: [{ ...cause, message: 'another' }] })).toMatch('wanted');
  });
});
