/** Reads the lines of a text file of any size. */

import { InputError, messageOf } from '#lib';

export interface Line {
  readonly text: string;
  /** Line number from 1. */
  readonly number: number;
  /** True if this line ends with a line break. Only the last line may end without one. */
  readonly isWhole: boolean;
}

/** Maximum size of one line in bytes. A Kubernetes object has at most 1.5 MiB. */
const MOST_BYTES = 4 * 2 ** 20;
/** Limits the expansion of a small compressed file. */
const MOST_LINES = 50_000_000;
const BREAK = 0x0a;

/**
 * @param source name of the source in messages
 * @throws InputError with the line if it is too long, is not UTF-8, or cannot be read
 */
export async function* linesOf(chunks: AsyncIterable<Buffer> | Iterable<Buffer>, source: string): AsyncGenerator<Line> {
  const decoder = new TextDecoder('utf-8', { fatal: true });
  let number = 0;
  let parts: Buffer[] = [];
  let bytes = 0;
  const add = (part: Buffer): void => {
    bytes += part.length;
    if (bytes > MOST_BYTES)
      throw new InputError(
        `${source}, line ${number + 1}`,
        `is longer than ${MOST_BYTES / 2 ** 20} MiB; split it into several lines`,
      );
    parts.push(part);
  };
  const take = (isWhole: boolean): Line => {
    number += 1;
    if (number > MOST_LINES) throw new InputError(source, `has more than ${MOST_LINES} lines; split it`);
    const [first] = parts;
    const whole = parts.length === 1 && first !== undefined ? first : Buffer.concat(parts);
    parts = [];
    bytes = 0;
    return { text: decodeUtf8(decoder, whole, `${source}, line ${number}`), number, isWhole };
  };
  try {
    for await (const chunk of chunks) {
      let from = 0;
      for (let to = chunk.indexOf(BREAK); to >= 0; to = chunk.indexOf(BREAK, from)) {
        add(chunk.subarray(from, to));
        from = to + 1;
        yield take(true);
      }
      if (from < chunk.length) add(chunk.subarray(from));
    }
  } catch (error) {
    if (error instanceof InputError) throw error;
    throw new InputError(`${source}, after line ${number}`, `cannot be read: ${messageOf(error)}`, { cause: error });
  }
  if (bytes > 0) yield take(false);
}

function decodeUtf8(decoder: InstanceType<typeof TextDecoder>, bytes: Buffer, where: string): string {
  try {
    return decoder.decode(bytes);
  } catch (error) {
    throw new InputError(where, 'is not UTF-8; save the file as UTF-8', { cause: error });
  }
}
