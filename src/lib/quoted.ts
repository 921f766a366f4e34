/** The longest text of a user that a message repeats. */
const MAX_QUOTED = 100;

/** A user's text in a message: in quotes, and no more of it than a reader needs to find it. */
export const quoted = (text: string): string =>
  text.length <= MAX_QUOTED
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, MAX_QUOTED))}… (${text.length} characters)`;
