/** JSON of which nothing may come out in an error: it can hold secrets. */
import { messageOf } from './error-message.ts';

/** As JSON.parse, whose own error quotes what surrounds the fault. @throws SyntaxError with the place alone */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    const place = / at position \d+/.exec(messageOf(error))?.[0] ?? '';
    throw new SyntaxError(`${text.length} characters that are not valid JSON${place}`);
  }
}
