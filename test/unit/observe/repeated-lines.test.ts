/** A persistent condition is logged when it changes, and then with a count. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import {
  createLogger,
  type LoggerOptions,
  REPEATED_EVENTS,
  repeatedLines,
} from '../../../src/observe/create-logger.ts';

const MINUTE = 60_000;
const SRC = join(import.meta.dirname, '../../../src');

function logging(level: LoggerOptions['level'] = 'info') {
  const lines: Record<string, unknown>[] = [];
  const time = { ms: 0 };
  const write = (line: string): void => void lines.push(JSON.parse(line));
  const log = createLogger({ level, outputPaths: [], errorOutputPaths: [], now: () => time.ms, write });
  let reconcile = 0;
  const of = (name: string) =>
    log.with({ controller: 'nodeclass', name, namespace: '', reconcileID: String(reconcile++) });
  return { lines, time, of };
}

describe('a persistent failure', () => {
  it('is logged immediately, then after 5, 10, 20 … minutes with the number of repetitions', () => {
    const { lines, time, of } = logging();
    for (; time.ms < 60 * MINUTE; time.ms += 10_000) of('default').error('Reconciler error', { error: 'no subnets' });
    expect(lines.map(({ time: at, repeated }) => [String(at).slice(14, 19), repeated])).toEqual([
      ['00:00', undefined],
      ['05:00', 30],
      ['15:00', 60],
      ['35:00', 120],
    ]);
  });

  it('is logged immediately if it changes, and for each object', () => {
    const { lines, of } = logging();
    of('a').error('Reconciler error', { error: 'no subnets' });
    of('b').error('Reconciler error', { error: 'no subnets' });
    of('a').error('Reconciler error', { error: 'no security groups' });
    of('a').error('Reconciler error', { error: 'no subnets' });
    for (const name of ['x', 'x', 'y']) of('a').error('failed', { Pod: { name, namespace: 'default' }, error: 'full' });
    expect(lines.map(({ name, error, Pod }) => [name, error, (Pod as { name?: string } | undefined)?.name])).toEqual([
      ['a', 'no subnets', undefined],
      ['b', 'no subnets', undefined],
      ['a', 'no security groups', undefined],
      ['a', 'full', 'x'],
      ['a', 'full', 'y'],
    ]);
  });

  it('is the same failure if only numbers or ids differ', () => {
    const { lines, of } = logging();
    of('a').error('failed', { error: 'request 0d6a3f1c-8b5e-4b8a-9a51-6a1f2c3d4e5f took 12 s' });
    of('a').error('failed', { error: 'request 1d6a3f1c-8b5e-4b8a-9a51-6a1f2c3d4e5f took 9 s' });
    expect(lines).toHaveLength(1);
  });

  it('is logged again if it recurs after a pause', () => {
    const { lines, time, of } = logging();
    of('a').error('failed', { error: 'no subnets' });
    time.ms += 31 * MINUTE;
    of('a').error('failed', { error: 'no subnets' });
    expect(lines.map(({ repeated }) => repeated)).toEqual([undefined, undefined]);
    // also if the clock was set back
    time.ms -= 40 * MINUTE;
    of('a').error('failed', { error: 'no subnets' });
    expect(lines).toHaveLength(3);
  });

  it('is logged each time at level debug', () => {
    const { lines, of } = logging('debug');
    for (let count = 0; count < 5; count++) of('a').error('failed', { error: 'no subnets' });
    expect(lines).toHaveLength(5);
  });

  it('needs bounded memory, because the oldest of many failures are forgotten', () => {
    const repeats = repeatedLines(() => 0);
    for (let index = 0; index < 5_000; index++) repeats(`line ${index}`);
    expect(repeats('line 4999')).toBeUndefined();
    expect(repeats('line 0')).toEqual({});
  });
});

describe('a line of a reconcile', () => {
  it('is omitted while the whole line stays the same', () => {
    const { lines, of } = logging();
    for (let count = 0; count < 3; count++) of('a').info('no dynamic nodepools found');
    of('a').info('found provisionable pod(s)', { duration: '1s' });
    of('a').info('found provisionable pod(s)', { duration: '2s' });
    expect(lines.map(({ message }) => message)).toEqual([
      'no dynamic nodepools found',
      'found provisionable pod(s)',
      'found provisionable pod(s)',
    ]);
  });

  it('is logged each time if it reports a launch or a worker exit', () => {
    const { lines, of } = logging();
    for (let count = 0; count < 3; count++) {
      of('').info('computed new nodeclaim(s) to fit pod(s)', { nodeclaims: 1, pods: 1 });
      of('').error('an engine worker ended, starting a new one', { error: 'out of memory' });
    }
    expect(lines).toHaveLength(6);
  });

  it.each([...REPEATED_EVENTS])('exists in the sources of the operator: %s', (message) => {
    const sources = readdirSync(SRC, { recursive: true, encoding: 'utf8' })
      .filter((path) => path.endsWith('.ts') && !path.endsWith('create-logger.ts') && !path.endsWith('remedies.ts'))
      .map((path) => readFileSync(join(SRC, path), 'utf8'));
    expect(sources.filter((text) => text.includes(`'${message}'`))).not.toEqual([]);
  });
});
