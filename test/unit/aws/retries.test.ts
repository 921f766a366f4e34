import { describe, expect, it } from '@jest/globals';
import type { Clock } from '#lib/clock';
import { type Retries, standardRetries } from '../../../src/aws/retries.ts';

type Kind = Parameters<Retries['refreshRetryTokenForRetry']>[1]['errorType'];

/** A clock that records each wait and ends it without a delay. */
function waits(): Clock & { readonly sleptMs: number[] } {
  const sleptMs: number[] = [];
  return { sleptMs, now: () => 0, after: () => () => undefined, sleep: async (ms) => void sleptMs.push(ms) };
}

async function play(retries: Retries, kinds: readonly Kind[]): Promise<void> {
  let token = await retries.acquireInitialRetryToken('');
  for (const errorType of kinds) token = await retries.refreshRetryTokenForRetry(token, { errorType });
  expect(token.getRetryCount()).toBe(kinds.length);
  expect(token.getRetryDelay()).toBe(0);
}

const repeated = (kind: Kind, times: number): Kind[] => Array.from({ length: times }, () => kind);

describe('a retry of a call to AWS', () => {
  it.each([
    { kind: 'TRANSIENT', pausesMs: [50, 100, 200, 400, 800] },
    { kind: 'THROTTLING', pausesMs: [1_000, 2_000, 4_000, 8_000, 16_000] },
  ] as const)('waits by the clock of the operator: $kind', async ({ kind, pausesMs }) => {
    const clock = waits();
    const retries = standardRetries({ clock, maxAttempts: 6, random: () => 1 });
    await play(retries, repeated(kind, 5));
    expect(clock.sleptMs).toEqual(pausesMs);
    await expect(play(retries, repeated(kind, 6))).rejects.toThrow('is not retried');
  });

  it.each(['CLIENT_ERROR', 'SERVER_ERROR'] as const)('does not happen after a %s', async (kind) => {
    await expect(play(standardRetries({ clock: waits(), maxAttempts: 6 }), [kind])).rejects.toThrow('is not retried');
  });

  it('waits for the time in the response, up to a limit', async () => {
    const clock = waits();
    const retries = standardRetries({ clock, maxAttempts: 6, random: () => 1 });
    const token = await retries.acquireInitialRetryToken('');
    for (const afterMs of [2_000, 3_600_000])
      await retries.refreshRetryTokenForRetry(token, {
        errorType: 'TRANSIENT',
        retryAfterHint: new Date(Date.now() + afterMs),
      });
    expect(clock.sleptMs[0]).toBeGreaterThan(1_900);
    expect(clock.sleptMs[0]).toBeLessThanOrEqual(2_000);
    expect(clock.sleptMs[1]).toBe(5_050);
  });

  it('ends in a long outage, and starts again after successes', async () => {
    const retries = standardRetries({ clock: waits(), maxAttempts: 6 });
    for (let call = 0; call < 7; call++) await play(retries, repeated('TRANSIENT', 5));
    await expect(play(retries, ['TRANSIENT'])).rejects.toThrow('is not retried');
    for (let call = 0; call < 14; call++) retries.recordSuccess(await retries.acquireInitialRetryToken(''));
    await play(retries, ['TRANSIENT']);
  });
});
