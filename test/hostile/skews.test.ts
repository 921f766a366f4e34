/** Wrong clocks: the clock of the operator's machine, and the API server's clock in its responses. */

import type { IncomingHttpHeaders, OutgoingHttpHeaders } from 'node:http';
import { afterAll, afterEach, beforeAll, describe, expect, it } from '@jest/globals';
import { type BehindProxy, startBehindProxy } from './behind-proxy.ts';
import { type HostileWorld, startHostileWorld } from './hostile-world.ts';
import type { RewritingProxy } from './rewriting-proxy.ts';

const HOUR = 3_600_000;
const DAY = 24 * HOUR;
/** Time on the world's clock, long enough for timeouts by a wrong clock. */
const QUIET_MS = 60_000;
const PATIENCE_MS = 600_000;

const launched = ({ world }: HostileWorld): number => world.aws.instances.list().length;

/** Waits, and expects no launches or terminations of instances except for those of the healthy pods. */
async function expectQuiet(hostile: HostileWorld): Promise<void> {
  await hostile.expectHealthy();
  const before = launched(hostile);
  const endsMs = hostile.clock.now() + QUIET_MS;
  await hostile.until('time', () => hostile.clock.now() > endsMs, PATIENCE_MS);
  expect(launched(hostile)).toBe(before);
  await hostile.expectHealthy();
  expect(launched(hostile)).toBeLessThanOrEqual(before + 1);
}

describe('the operator', () => {
  let hostile: HostileWorld | undefined;
  afterAll(() => hostile?.stop());

  it.each([
    ['an hour ahead', HOUR],
    ['an hour behind', -HOUR],
    ['ten days ahead', 10 * DAY],
    ['ten hours behind', -10 * HOUR],
  ])('works with a machine clock that is %s', async (_, skewMs) => {
    const env = { CLOCK_SKEW_MS: String(skewMs) };
    if (hostile === undefined) hostile = await startHostileWorld({ env });
    else await hostile.restart(env);
    await expectQuiet(hostile);
    expect(hostile.operator.log.filter(({ message }) => message.includes('clock of the machine differs'))).toHaveLength(
      1,
    );
  });
});

describe('the operator', () => {
  let behind: BehindProxy | undefined;
  let proxy: RewritingProxy;
  let hostile: HostileWorld;
  beforeAll(async () => {
    behind = await startBehindProxy();
    ({ hostile, proxy } = behind);
  });
  afterEach(() => proxy.mend());
  afterAll(() => behind?.stop());

  type Change = (headers: IncomingHttpHeaders, answer: number) => OutgoingHttpHeaders;
  const later = (ms: number, { date = '' }: IncomingHttpHeaders): string =>
    new Date(Date.parse(date) + ms).toUTCString();

  it.each<[string, Change]>([
    ['no date', ({ date: _, ...headers }) => headers],
    ['a date that cannot be parsed', (headers) => ({ ...headers, date: 'today' })],
    ['the beginning of time', (headers) => ({ ...headers, date: new Date(0).toUTCString() })],
    ['the end of time', (headers) => ({ ...headers, date: 'Fri, 31 Dec 9999 23:59:59 GMT' })],
    ['dates out of a cache', (headers) => ({ ...headers, age: '3600', date: later(-HOUR, headers) })],
    ['dates of two clocks in turn', (headers, answer) => ({ ...headers, date: later((answer % 2) * -HOUR, headers) })],
    ['dates that go back', (headers, answer) => ({ ...headers, date: later(-answer * HOUR, headers) })],
  ])('keeps working if the API server sends %s', async (_, change) => {
    let answer = 0;
    proxy.spoil(() => {
      answer += 1;
      return { kind: 'headers', change: (headers) => change(headers, answer) };
    });
    proxy.cut();
    await hostile.until('answers', () => answer > 20, PATIENCE_MS);
    await expectQuiet(hostile);
  });
});
