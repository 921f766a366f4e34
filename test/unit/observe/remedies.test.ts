/** Every error line has a remedy. */
import { readdirSync, readFileSync } from 'node:fs';
import { join, relative } from 'node:path';
import { describe, expect, it } from '@jest/globals';
import { REMEDIES, remedyFor } from '../../../src/observe/remedies.ts';

const SRC = join(import.meta.dirname, '../../../src');
/** Folders that are not part of the operator. */
const ELSEWHERE = /^(local|cli)\//;

const sources = readdirSync(SRC, { recursive: true, withFileTypes: true })
  .filter((entry) => entry.isFile() && entry.name.endsWith('.ts'))
  .map((entry) => join(entry.parentPath, entry.name))
  .filter((file) => !ELSEWHERE.test(relative(SRC, file)))
  .map((file) => ({ file: relative(SRC, file), source: readFileSync(file, 'utf8') }));

/** Calls of `log.error`, with their text up to the end of the statement. */
const calls = sources.flatMap(({ file, source }) =>
  [...source.matchAll(/\blog\??\.error\(([\s\S]*?)\);?\n/g)].map(([, text = '']) => ({ file, text })),
);

const messagesIn = (text: string): readonly string[] =>
  [...text.matchAll(/(?:^|[?:]|\()\s*(?:'([^']+)'|`([^`]+)`)/g)].map(([, plain, template]) => plain ?? template ?? '');

describe('an error line', () => {
  it('is found at every call site', () => {
    expect(calls.length).toBeGreaterThan(45);
    // a level that is chosen when the line is written would hide the call
    expect(sources.filter(({ source }) => /\blog\??\.?\[/.test(source)).map(({ file }) => file)).toEqual([]);
  });

  it.each(calls.map(({ file, text }) => [file, text] as const))('has a remedy for %s: %s', (_, text) => {
    if (/\bremedy\b/.test(text) || text.startsWith('`')) return;
    const [first = '', second] = messagesIn(text);
    const messages = text.trimStart().startsWith("'") ? [first] : [first, second].filter((each) => each !== 'list');
    for (const message of messages) expect(REMEDIES).toHaveProperty([message ?? '']);
  });

  it('names the missing permission of a denied call', () => {
    const fields = {
      'aws-error-code': 'UnauthorizedOperation',
      'aws-service-name': 'EC2',
      'aws-operation-name': 'CreateFleet',
    };
    expect(remedyFor('Reconciler error', fields)).toBe("allow ec2:CreateFleet in the policies of the operator's role");
  });

  it('names the object to check', () => {
    const fields = { controllerKind: 'NodeClaim', name: 'default-a', namespace: '' };
    expect(remedyFor('Reconciler error', fields)).toContain('kubectl describe nodeclaim default-a shows');
    expect(remedyFor('Reconciler error', { ...fields, namespace: 'x' })).toContain('default-a -n x shows');
    expect(remedyFor('Reconciler error', { controller: 'interruption' })).toContain('retried');
  });
});
