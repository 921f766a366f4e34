import { describe, expect, it } from '@jest/globals';
import { isFromLoopback } from '../../../src/process/loopback.ts';

describe('isFromLoopback', () => {
  it.each([
    { from: '127.0.0.1', to: '127.0.0.1', is: true },
    { from: '::1', to: '::1', is: true },
    { from: '::ffff:127.0.0.1', to: '::ffff:127.0.0.1', is: true },
    { from: '10.0.0.7', to: '10.0.0.9', is: false },
    { from: '::ffff:10.0.0.7', to: '::ffff:10.0.0.9', is: false },
    // the proxy of a service mesh
    { from: '127.0.0.6', to: '10.0.0.9', is: false },
    { from: 'fe80::1', to: 'fe80::1', is: false },
    { from: undefined, to: undefined, is: false },
  ])('returns $is for $from to $to', ({ from, to, is }) => {
    expect(isFromLoopback({ remoteAddress: from, localAddress: to })).toBe(is);
  });
});
