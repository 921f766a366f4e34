/**
 * Splits text into words as a POSIX shell does: quotes group, backslashes escape, and a trailing backslash joins lines.
 */
export function shellWords(text: string): string[] {
  const found: string[] = [];
  const pattern = /\\\n|\s+|\\([\s\S])|"((?:\\[\s\S]|[^"\\])*)"|'([^']*)'|([^\s"'\\]+)/g;
  let word: string | undefined;
  for (const [whole, escaped, double, single, plain] of text.matchAll(pattern)) {
    if (whole === '\\\n' || /^\s+$/.test(whole)) {
      if (word !== undefined) found.push(word);
      word = undefined;
    } else {
      const part = escaped ?? double?.replace(/\\(["\\$`\n])/g, (_, mark: string) => (mark === '\n' ? '' : mark));
      word = (word ?? '') + (part ?? single ?? plain ?? '');
    }
  }
  if (word !== undefined) found.push(word);
  return found;
}
