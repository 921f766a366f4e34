import { Writable } from 'node:stream';
import { describe, expect, it } from '@jest/globals';
import { parse } from 'yaml';
import { formatted, showLine } from '#cli/testing';
import { escapeControls, filterOutputs, type Output, writeControl } from '../../../src/observe/control-characters.ts';

const everyControl = [
  ...Array.from({ length: 0x20 }, (_, code) => code),
  ...Array.from({ length: 0x21 }, (_, at) => 0x7f + at),
  ...[0x202a, 0x202b, 0x202c, 0x202d, 0x202e, 0x2066, 0x2067, 0x2068, 0x2069],
].filter((code) => code !== 9 && code !== 10);

/** Returns an output that records the text that reaches the terminal. */
function terminal(): { readonly output: Output & Writable; readonly shown: () => string } {
  const chunks: Buffer[] = [];
  const output = new Writable({
    write(chunk, _, done) {
      chunks.push(Buffer.from(chunk));
      done();
    },
  });
  return { output: output as Output & Writable, shown: () => Buffer.concat(chunks).toString() };
}

describe('the filter for control characters', () => {
  it.each(everyControl)('escapes character %i', (code) => {
    const escaped = `\\u${code.toString(16).padStart(4, '0')}`;
    expect(escapeControls(`a${String.fromCharCode(code)}b`)).toBe(`a${escaped}b`);
  });

  it.each([
    'plain text',
    'tab\tand lines\n',
    'CRLF\r\n',
    'accents é, 漢字, 🙂, עברית',
    '\u001b[1mbold\u001b[22m',
  ])('does not change %j', (text) => {
    expect(escapeControls(text)).toBe(text);
  });

  it.each([
    ['\u001b[31mred', '\\u001b[31mred'],
    ['\u001b[8mhidden', '\\u001b[8mhidden'],
    ['\u001b]0;title\u0007', '\\u001b]0;title\\u0007'],
    ['\u001b]52;c;Y3VybA==\u0007', '\\u001b]52;c;Y3VybA==\\u0007'],
    ['\r\u001b[2Kover', '\\u000d\\u001b[2Kover'],
    ['\u009b2J', '\\u009b2J'],
  ])('escapes %j', (text, escaped) => {
    expect(escapeControls(text)).toBe(escaped);
  });

  it('covers strings and bytes, and characters that are split between chunks', () => {
    const { output, shown } = terminal();
    filterOutputs([output]);
    output.write('a\u001b[2J');
    const bytes = Buffer.from('b\u009bé🙂');
    for (const byte of bytes) output.write(Buffer.from([byte]));
    expect(shown()).toBe('a\\u001b[2Jb\\u009bé🙂');
  });

  it("is installed once, and does not escape the program's own sequences", () => {
    const { output, shown } = terminal();
    filterOutputs([output]);
    filterOutputs([output]);
    writeControl(output, '\r\u001b[2K');
    showLine(output, 'name \u001b[2J');
    expect(shown()).toBe('\r\u001b[2K\r\u001b[2Kname \\u001b[2J');
  });

  it.each(['json', 'yaml'] as const)('does not change the value of %s', async (format) => {
    const texts = everyControl.map((code) => String.fromCharCode(code));
    const value = {
      texts,
      plain: `x${texts.join('y')}z`,
      lines: `one\n\u202etwo\n\u009bthree\n`,
      'key\u202e': { 'key\u009b': '\u2066' },
    };
    const printed = escapeControls(await formatted(format, value, () => ''));
    expect(printed).toBe(escapeControls(printed));
    expect(format === 'json' ? JSON.parse(printed) : parse(printed)).toEqual(value);
  });
});
