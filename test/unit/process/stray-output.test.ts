import { describe, expect, it } from '@jest/globals';
import { captureLines } from '../../../src/process/stray-output.ts';

type Stream = Parameters<typeof captureLines>[0];

describe('captured output', () => {
  const lines: string[] = [];
  const stream = {} as Stream;
  captureLines(stream, (text) => lines.push(text));

  it('is reported line by line, without empty lines', () => {
    stream.write('one\ntwo\n\n \nthr');
    stream.write(Buffer.from('ee\nfour'));
    expect(lines).toEqual(['one', 'two', 'three']);
  });

  it('is truncated at 2,000 characters per line, including a line that does not end', () => {
    lines.length = 0;
    for (let chunk = 0; chunk < 100; chunk += 1) stream.write('x'.repeat(1_000));
    stream.write('\n');
    expect(lines.map(({ length }) => length)).toEqual([2_000]);
  });

  it('calls the callbacks of writes like a stream', async () => {
    await new Promise<void>((resolve) => stream.write('x', () => resolve()));
    await new Promise<void>((resolve) => stream.write('x', 'utf8', () => resolve()));
  });
});
