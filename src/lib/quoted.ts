/** Maximum length of user text in a message. */
const MAX_QUOTED = 100;

/** Quotes user text for a message. Shortens long texts, because a reader needs only the beginning to find the text. */
export const quoted = (text: string): string =>
  text.length <= MAX_QUOTED
    ? JSON.stringify(text)
    : `${JSON.stringify(text.slice(0, MAX_QUOTED))}… (${text.length} characters)`;
