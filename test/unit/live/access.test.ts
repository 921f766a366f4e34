import type { IncomingMessage } from 'node:http';
import { describe, expect, it } from '@jest/globals';
import { admission, cookieFor } from '../../../src/live/server.ts';

const TOKEN = 'a-token-that-is-long-enough';
const asked = (headers: Record<string, string>): IncomingMessage => ({ headers }) as unknown as IncomingMessage;
const query = (text = ''): URLSearchParams => new URLSearchParams(text);
const cookie = cookieFor(TOKEN).split(';')[0] ?? '';

describe('the live page on loopback', () => {
  it.each(['localhost:8090', '127.0.0.1:8090', '127.0.0.1', '[::1]:8090', 'LOCALHOST'])('is served for %s', (host) => {
    expect(admission(asked({ host }), query(), { isLocal: true, token: '' })).toBe('admitted');
  });

  it.each([
    'evil.example',
    'evil.example:8090',
    '127.0.0.1.evil.example',
    'localhost.evil.example',
    '10.0.0.1',
    '',
  ])('is not served for a page of %j whose name resolves to loopback', (host) => {
    expect(admission(asked({ host }), query(), { isLocal: true, token: '' })).toBe('wrong-host');
  });
});

describe('the live page in a browser', () => {
  const access = { isLocal: true, token: '' };
  it.each([
    ['none', 'admitted'],
    ['same-origin', 'admitted'],
    ['same-site', 'cross-site'],
    ['cross-site', 'cross-site'],
    ['', 'cross-site'],
  ])('returns with Sec-Fetch-Site %j: %s', (site, result) => {
    const headers = { host: 'localhost:8090', 'sec-fetch-site': site };
    expect(admission(asked(headers), query(), access)).toBe(result);
  });

  it('rejects other sites even with a token', () => {
    const headers = { host: 'karpenter.example', 'sec-fetch-site': 'cross-site', authorization: `Bearer ${TOKEN}` };
    expect(admission(asked(headers), query(), { isLocal: false, token: TOKEN })).toBe('cross-site');
  });
});

describe('the live page with a token', () => {
  const admit = (headers: Record<string, string>, text = ''): string =>
    admission(asked({ host: 'karpenter.example', ...headers }), query(text), { isLocal: false, token: TOKEN });

  it.each([
    [{ authorization: `Bearer ${TOKEN}` }, '', 'admitted'],
    [{ authorization: `bearer ${TOKEN}` }, '', 'admitted'],
    [{ cookie }, '', 'admitted'],
    [{ cookie: `other=1; ${cookie}` }, '', 'admitted'],
    [{}, `token=${TOKEN}`, 'enter'],
    [{}, '', 'no-token'],
    [{}, 'token=wrong', 'no-token'],
    [{ authorization: `Basic ${TOKEN}` }, '', 'no-token'],
    [{ authorization: 'Bearer ' }, '', 'no-token'],
    [{ cookie: 'karpenter_live=' }, '', 'no-token'],
    // The token itself is not a valid cookie.
    [{ cookie: `karpenter_live=${TOKEN}` }, '', 'no-token'],
  ])('returns with %j and %j: %s', (headers, text, result) => {
    expect(admit(headers, text)).toBe(result);
  });

  it('sets a cookie that scripts cannot read and that other sites do not send', () => {
    expect(cookieFor(TOKEN)).toMatch(/; HttpOnly; SameSite=Strict$/);
    expect(cookieFor(TOKEN)).not.toContain(TOKEN);
  });
});
