/** Parses JSON that may contain secrets, so that errors must not contain any part of the text. */
import { messageOf } from './error-message.ts';

/**
 * Parses JSON like JSON.parse, but the error does not quote the text.
 * @throws SyntaxError with only the length of the text and the position of the fault
 */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = / at position \d+/.exec(messageOf(error))?.[0] ?? '';
    throw new SyntaxError(`${text.length} characters that are not valid JSON${place}`);
  }
}
