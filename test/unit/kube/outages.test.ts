import { describe, expect, it } from '@jest/globals';
import { ApiError } from '../../../src/kube/client.ts';
import { watchForOutages } from '../../../src/kube/outages.ts';
import { ConnectionError } from '../../../src/kube/transport.ts';
import { recordingLog } from './fakes.ts';

const REQUEST = { method: 'GET', path: '/api/v1/pods' };
const BROKEN = new ConnectionError('Cannot reach the API server at example.com', true);
const failure = (status: number): ApiError => new ApiError(status, 'Some', 'a failure');

const begin = () => {
  const { log, lines } = recordingLog();
  let nowMs = 0;
  const outages = watchForOutages(log, () => nowMs);
  return {
    outages,
    told: () => lines.map(({ level, message, fields }) => ({ level, message, ...fields })),
    pass(ms: number): void {
      nowMs += ms;
    },
  };
};

describe('an outage of the API server', () => {
  it('is logged once if it lasts, and its end is logged with the duration', () => {
    const { outages, told, pass } = begin();
    outages.failed(BROKEN);
    pass(400);
    outages.failed(BROKEN);
    expect(told()).toEqual([]);
    pass(800);
    for (let request = 0; request < 20; request += 1) outages.failed(BROKEN);
    pass(18_800);
    outages.served(REQUEST, 10);
    outages.served(REQUEST, 10);
    expect(told()).toEqual([
      { level: 'error', message: 'the API server serves no requests, retrying', error: BROKEN },
      { level: 'info', message: 'the API server serves requests again', after: '20s', error: BROKEN },
    ]);
  });

  it('is logged at its end at the latest', () => {
    const { outages, told, pass } = begin();
    outages.failed(BROKEN);
    pass(800);
    outages.failed(failure(503));
    pass(3_700);
    outages.failed(failure(403));
    outages.served(REQUEST, 10);
    expect(told()).toEqual([
      { level: 'info', message: 'the API server serves requests again', after: '4.5s', error: BROKEN },
    ]);
  });

  it('does not start with a single broken connection, also if they are frequent', () => {
    const { outages, told, pass } = begin();
    for (let round = 0; round < 10; round += 1) {
      outages.failed(BROKEN);
      pass(5_000);
      outages.served(REQUEST, 10);
    }
    expect(told()).toEqual([]);
  });

  it.each([
    { error: failure(401), counts: true },
    { error: failure(500), counts: true },
    { error: failure(503), counts: true },
    { error: failure(403), counts: false },
    { error: failure(404), counts: false },
    { error: failure(409), counts: false },
    { error: failure(429), counts: false },
    { error: new Error('told to stop'), counts: false },
  ])('is detected by $error.status: $counts', ({ error, counts }) => {
    const { outages, told, pass } = begin();
    outages.failed(error);
    pass(2_000);
    outages.failed(error);
    expect(told()).toHaveLength(counts ? 1 : 0);
  });
});

describe('a slow response', () => {
  it('is logged at a limited rate', () => {
    const { outages, told, pass } = begin();
    outages.served(REQUEST, 4_900);
    for (let request = 0; request < 8; request += 1) {
      outages.served(REQUEST, 20_000);
      pass(2_500);
    }
    const line = { level: 'info', message: 'the API server responds slowly', ...REQUEST, duration: '20s' };
    expect(told()).toEqual([line, line]);
  });
});
