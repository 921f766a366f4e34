/** Multi-part user data. */

export interface Part {
  readonly contentType: string;
  readonly body: string;
}

export const isMime = (text: string): boolean => /^\s*(MIME-Version|Content-Type):/i.test(text);

function splitHead(text: string): { head: string; body: string } {
  const blank = /\n[ \t]*\n/.exec(text);
  return blank
    ? { head: text.slice(0, blank.index), body: text.slice(blank.index + blank[0].length) }
    : { head: text, body: '' };
}

const headerOf = (head: string, name: string): string =>
  new RegExp(`^${name}:\\s*(.*)$`, 'im').exec(head)?.[1]?.trim() ?? '';

/**
 * Splits a multi-part message. The final boundary may be missing.
 * @throws Error if there is no boundary
 */
export function mimeParts(text: string): readonly Part[] {
  const { head, body } = splitHead(text.replaceAll('\r', '').trimStart());
  const boundary = /boundary="?([^";\n]+)"?/i.exec(head)?.[1];
  if (boundary === undefined) throw new Error('Cannot read user data: its MIME header has no boundary');
  const parts: string[] = [];
  let current: string[] | undefined;
  for (const line of body.split('\n')) {
    const mark = line.trimEnd();
    if (mark === `--${boundary}` || mark === `--${boundary}--`) {
      if (current) parts.push(current.join('\n'));
      if (mark.length > boundary.length + 2) return parts.map(partOf);
      current = [];
    } else current?.push(line);
  }
  if (current) parts.push(current.join('\n'));
  return parts.map(partOf);
}

function partOf(text: string): Part {
  const { head, body } = splitHead(text);
  return { contentType: headerOf(head, 'Content-Type').split(';')[0]?.trim() ?? '', body };
}
