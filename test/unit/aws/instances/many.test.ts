import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { forMany } from '../../../../src/aws/request-batcher.ts';

const failing = (code: string, message: string, $fault = 'client'): Error =>
  Object.assign(new Error(message), { name: code, Code: code, $fault, $metadata: {} });

const idOf = (n: number): string => `i-${n.toString(16).padStart(17, '0')}`;
const idsTo = (count: number): string[] => Array.from({ length: count }, (_, at) => idOf(at));

/** A server that fails if a request contains a bad ID, and omits some IDs from its response. */
function server(bad: ReadonlySet<string>, silent: ReadonlySet<string>, message: (bad: readonly string[]) => string) {
  const calls: (readonly string[])[] = [];
  const call = async (ids: readonly string[]) => {
    calls.push(ids);
    const unknown = ids.filter((id) => bad.has(id));
    if (unknown.length > 0) throw failing('InvalidInstanceID.NotFound', message(unknown));
    return new Map(ids.filter((id) => !silent.has(id)).map((id) => [id, id.toUpperCase()]));
  };
  return { calls, call };
}

const naming = (ids: readonly string[]): string => `The instance IDs '${ids.join(', ')}' do not exist`;

describe('one call for many', () => {
  it.each([
    { says: naming, calls: 2 },
    // The search halves the list: 500 IDs, then two calls per halving for each of the two IDs.
    { says: () => 'Some do not exist', calls: 37 },
  ])('costs at most $calls calls when two of 500 are unknown', async ({ says, calls }) => {
    const ids = idsTo(500);
    const it = server(new Set([idOf(3), idOf(400)]), new Set(), says);
    const answers = await forMany(ids, it.call);
    expect(answers.flatMap(({ status }, at) => (status === 'rejected' ? [at] : []))).toEqual([3, 400]);
    expect(it.calls.length).toBeLessThanOrEqual(calls);
  });

  it('requests all omitted IDs again with one call', async () => {
    const it = server(new Set(), new Set([idOf(1), idOf(2)]), naming);
    const answers = await forMany(idsTo(4), it.call);
    expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'failed'))).toEqual([
      idOf(0).toUpperCase(),
      undefined,
      undefined,
      idOf(3).toUpperCase(),
    ]);
    expect(it.calls.slice(1)).toEqual([[idOf(1), idOf(2)]]);
  });

  it.each([
    ['throttling', failing('RequestLimitExceeded', 'Request limit exceeded.', 'server')],
    ['a failure of EC2', failing('InternalError', 'An internal error has occurred', 'server')],
    ['expired credentials', failing('RequestExpired', 'Request has expired.')],
    ['a lost connection', new Error('read ECONNRESET')],
  ])('does not request the IDs one by one after %s', async (_, error) => {
    let calls = 0;
    const answers = await forMany(idsTo(500), async () => {
      calls++;
      throw error;
    });
    expect(calls).toBe(1);
    expect(new Set(answers.map((answer) => (answer.status === 'rejected' ? answer.reason : undefined)))).toEqual(
      new Set([error]),
    );
  });

  it('returns the same result for every ID as a separate request', async () => {
    const subset = fc.uniqueArray(fc.nat(30));
    await fc.assert(
      fc.asyncProperty(fc.array(fc.nat(30)), subset, subset, fc.boolean(), async (wanted, bad, silent, named) => {
        const it = server(new Set(bad.map(idOf)), new Set(silent.map(idOf)), named ? naming : () => 'no');
        const answers = await forMany(wanted.map(idOf), it.call);
        const expected = wanted.map((n) => {
          if (bad.includes(n)) return 'failed';
          return silent.includes(n) ? undefined : idOf(n).toUpperCase();
        });
        expect(answers.map((answer) => (answer.status === 'fulfilled' ? answer.value : 'failed'))).toEqual(expected);
      }),
    );
  });
});
