/** Texts of users in messages. */

/** Maximum number of characters of an expression in a message. */
const LONGEST_EXPRESSION = 200;
/** Maximum number of characters of a message. */
const LONGEST_MESSAGE = 1024;

const CONTROL = /\p{Cc}+/gu;

/** Returns a shortened text without control characters. */
export function shown(text: string, most = LONGEST_EXPRESSION): string {
  const clean = text.slice(0, most + 1).replace(CONTROL, ' ');
  return clean.length > most ? `${clean.slice(0, most)}…` : clean;
}

export const shownMessage = (text: string): string => shown(text, LONGEST_MESSAGE);
