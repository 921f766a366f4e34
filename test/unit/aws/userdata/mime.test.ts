import { describe, expect, it } from '@jest/globals';
import fc from 'fast-check';
import { isMime, parseMime, writeMime } from '../../../../src/aws/userdata/mime.ts';

const ARCHIVE = [
  'MIME-Version: 1.0',
  'Content-Type: multipart/mixed; boundary="BOUND"',
  '',
  'a preamble',
  '--BOUND',
  'Content-Type: text/x-shellscript;',
  ' charset="us-ascii"',
  '',
  'echo one',
  '--BOUND',
  'Content-Type: application/node.eks.aws',
  '',
  'kind: NodeConfig',
  '',
].join('\r\n');

describe('parseMime', () => {
  it('reads folded headers, CRLF and an archive with a missing end', () => {
    expect(parseMime(`${ARCHIVE}\r\n--BOUND`)).toEqual([
      { headers: { 'Content-Type': 'text/x-shellscript; charset="us-ascii"' }, content: 'echo one' },
      { headers: { 'Content-Type': 'application/node.eks.aws' }, content: 'kind: NodeConfig\n' },
    ]);
  });

  it.each([
    ['no boundary', 'MIME-Version: 1.0\nContent-Type: text/plain\n\nhello'],
    ['no parts', 'Content-Type: multipart/mixed; boundary="B"\n\nhello'],
    ['no empty line', 'MIME-Version: 1.0'],
    ['a malformed header', 'MIME-Version: 1.0\nnonsense\n\nhello'],
  ])('rejects an archive with %s', (_, archive) => {
    expect(() => parseMime(archive)).toThrow();
  });

  it('returns the parts that were written', () => {
    const line = fc.string().filter((text) => !/[\r\n]/.test(text) && !text.startsWith('--'));
    const content = fc.array(line, { minLength: 1, maxLength: 5 }).map((lines) => lines.join('\n'));
    fc.assert(
      fc.property(fc.array(content, { minLength: 1, maxLength: 4 }), (contents) => {
        const parts = contents.map((text) => ({ headers: { 'Content-Type': 'text/plain' }, content: text }));
        expect(parseMime(writeMime(parts))).toEqual(parts);
      }),
    );
  });
});

describe('isMime', () => {
  it.each([
    ['MIME-Version: 1.0\n', true],
    ['\n  Content-Type: multipart/mixed', true],
    ['#!/bin/bash\n# MIME-Version: 1.0', false],
    ['', false],
  ])('returns for %j: %s', (text, is) => {
    expect(isMime(text)).toBe(is);
  });
});
