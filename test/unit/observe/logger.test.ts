import { mkdtempSync, readFileSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { createLogger, type LoggerOptions } from '../../../src/observe/create-logger.ts';
import type { Logger } from '../../../src/observe/logger.ts';

function logger(options: Partial<LoggerOptions> = {}): {
  log: Logger;
  lines: () => Record<string, unknown>[];
  texts: string[];
} {
  const texts: string[] = [];
  const log = createLogger({
    level: 'info',
    outputPaths: ['stdout'],
    errorOutputPaths: ['stderr'],
    now: () => Date.UTC(2026, 0, 31, 10, 11, 12, 345),
    write: (line) => texts.push(line),
    ...options,
  });
  return { log, texts, lines: () => texts.map((line) => JSON.parse(line)) };
}

describe('createLogger', () => {
  it('omits an unknown revision', () => {
    const { log, texts } = logger({ commit: '' });
    log.info('hello');
    expect(texts[0]).not.toContain('commit');
  });

  it('writes control characters as JSON escapes of the same text', () => {
    const { log, texts, lines } = logger();
    const name = 'a\u001b[2Jb\u007fc\u009b31md\u202ee';
    log.with({ NodeClaim: { name } }).info(name, { name, error: new Error(name) });
    expect(texts[0]).toMatch(/^[ -~]*\n$/);
    expect(lines()[0]).toMatchObject({ message: name, name, NodeClaim: { name }, error: name });
  });

  it('writes to every output', () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-'));
    const outputPaths = ['one', 'two'].map((file) => join(folder, file));
    const log = createLogger({ level: 'debug', outputPaths, errorOutputPaths: ['stderr'] });
    log.debug('first');
    log.error('second');
    for (const path of outputPaths)
      expect(
        readFileSync(path, 'utf8')
          .trim()
          .split('\n')
          .map((line) => JSON.parse(line).message),
      ).toEqual(['first', 'second']);
    rmSync(folder, { recursive: true });
  });

  it('writes the documented shape, in the documented order', () => {
    const { log, texts } = logger({ commit: '0123456789abcdef-dirty' });
    log
      .with({ controller: 'nodeclaim.lifecycle', NodeClaim: { name: 'a' } })
      .info('launched nodeclaim', { 'provider-id': 'aws:///z/i' });
    expect(texts).toEqual([
      '{"level":"INFO","time":"2026-01-31T10:11:12.345Z","logger":"controller","message":"launched nodeclaim",' +
        '"commit":"0123456-dirty","controller":"nodeclaim.lifecycle","NodeClaim":{"name":"a"},"provider-id":"aws:///z/i"}\n',
    ]);
  });

  it('writes errors as text with their causes, and with the codes of AWS failures', () => {
    const { log, lines } = logger();
    const aws = Object.assign(new Error('You are not authorized'), {
      name: 'UnauthorizedOperation',
      $metadata: { httpStatusCode: 403, requestId: 'req-1' },
    });
    log.error('Reconciler error', { error: new Error('launching nodeclaim', { cause: aws }) });
    expect(lines()[0]).toMatchObject({
      level: 'ERROR',
      error: 'launching nodeclaim, You are not authorized',
      'aws-error-code': 'UnauthorizedOperation',
      'aws-request-id': 'req-1',
      'aws-status-code': 403,
    });
    expect(lines()[0]).not.toHaveProperty('aws-operation-name');
  });

  it('names the failed request to the API server, also if it is the cause of another error', () => {
    const { log, lines } = logger();
    const failed = Object.assign(new Error('no'), { request: 'PATCH /api/v1/nodes/a' });
    log.error('Reconciler error', { error: failed });
    log.error('Reconciler error', { error: new Error('tainting', { cause: failed }) });
    log.error('Reconciler error', { error: new AggregateError([failed, new Error('other')], 'both') });
    expect(lines().map((line) => line['kube-request'])).toEqual(Array(3).fill('PATCH /api/v1/nodes/a'));
    log.error('Reconciler error', { error: new Error('boom') });
    expect(lines()[3]).not.toHaveProperty('kube-request');
  });

  it.each([
    { level: 'debug', written: ['DEBUG', 'INFO', 'ERROR'] },
    { level: 'info', written: ['INFO', 'ERROR'] },
    { level: 'error', written: ['ERROR'] },
  ] as const)('writes $written at level $level', ({ level, written }) => {
    const { log, lines } = logger({ level });
    log.debug('d');
    log.info('i');
    log.error('e');
    expect(lines().map((line) => line.level)).toEqual(written);
  });

  it('names the caller at level debug only', () => {
    const { log, lines } = logger({ level: 'debug' });
    log.info('here');
    expect(lines()[0]?.caller).toMatch(/^observe\/logger\.test\.ts:\d+$/);
  });

  it('writes the first hundred copies of a line per second, then every hundredth', () => {
    let now = 0;
    const { log, lines } = logger({ now: () => now });
    for (let count = 0; count < 350; count += 1) log.info('again');
    log.info('another');
    expect(lines()).toHaveLength(103);
    now = 1_000;
    log.info('again');
    expect(lines()).toHaveLength(104);
  });

  it('writes to files', () => {
    const folder = mkdtempSync(join(tmpdir(), 'log-'));
    try {
      const path = join(folder, 'karpenter.log');
      const { write: _, ...options } = { write: undefined };
      const log = createLogger({ level: 'info', outputPaths: [path], errorOutputPaths: ['stderr'], ...options });
      log.info('kept');
      expect(JSON.parse(readFileSync(path, 'utf8'))).toMatchObject({ message: 'kept' });
    } finally {
      rmSync(folder, { recursive: true });
    }
  });

  it('names the output that cannot be opened', () => {
    const open = (): unknown => createLogger({ level: 'info', outputPaths: [tmpdir()], errorOutputPaths: ['stderr'] });
    expect(open).toThrow(`Cannot log to "${tmpdir()}", one of LOG_OUTPUT_PATHS`);
  });
});
