/** Multipart archives, with which cloud-init and nodeadm receive several documents. */

import { put } from '#lib';

export interface MimePart {
  readonly headers: Readonly<Record<string, string>>;
  readonly content: string;
}

const BOUNDARY = '//';

/** Reports whether a text begins like a multipart archive. */
export const isMime = (text: string): boolean => /^\s*(MIME-Version|Content-Type):/.test(text);

/** Converts `content-type` and `CONTENT-TYPE` to `Content-Type`. */
const canonicalName = (name: string): string =>
  name.toLowerCase().replace(/(^|-)[a-z]/g, (letter) => letter.toUpperCase());

/** Parses the headers up to the first empty line, and returns them with the remaining text. */
function readHeaders(text: string): { headers: Record<string, string>; rest: string } {
  const end = text.startsWith('\n') ? 0 : text.indexOf('\n\n');
  if (end < 0) throw new Error('no empty line after the headers');
  const headers: Record<string, string> = {};
  // A line that starts with white space continues the previous header.
  for (const line of text
    .slice(0, end)
    .replace(/\n[ \t]+/g, ' ')
    .split('\n')) {
    if (line === '') continue;
    const colon = line.indexOf(':');
    if (colon < 1) throw new Error('malformed header: a line of the headers has no colon');
    put(headers, canonicalName(line.slice(0, colon).trim()), line.slice(colon + 1).trim());
  }
  return { headers, rest: text.slice(end === 0 ? 1 : end + 2) };
}

const header = (headers: Readonly<Record<string, string>>, name: string): string | undefined =>
  Object.entries(headers).find(([key]) => key.toLowerCase() === name)?.[1];

export const contentType = (part: MimePart): string | undefined => header(part.headers, 'content-type');

const ENCODING = 'Content-Transfer-Encoding';

/** Decodes quoted-printable text, in which `=3D` encodes a byte and `=` at the end of a line joins lines. */
const quotedPrintable = (text: string): string =>
  Buffer.from(
    text
      .replace(/(?<![ \t])[ \t]+$/gm, '')
      .replace(/=\n/g, '')
      .replace(/=([0-9A-Fa-f]{2})/g, (_, hex: string) => String.fromCharCode(Number.parseInt(hex, 16))),
    'latin1',
  ).toString();

/** Decodes a part with the encoding quoted-printable. Other encodings are unchanged. */
function decodedPart({ headers, content }: MimePart): MimePart {
  const { [ENCODING]: encoding, ...rest } = headers;
  return encoding?.toLowerCase() === 'quoted-printable'
    ? { headers: rest, content: quotedPrintable(content) }
    : { headers, content };
}

/**
 * Returns the parts of an archive. A final delimiter without closing dashes is accepted.
 * @throws Error if the archive has no boundary, headers or delimiters
 */
export function parseMime(archive: string): readonly MimePart[] {
  const { headers, rest } = readHeaders(archive.replaceAll('\r', '').trimStart());
  const boundary = /boundary=(?:"([^"]+)"|([^\s;]+))/i.exec(header(headers, 'content-type') ?? '');
  const name = boundary?.[1] ?? boundary?.[2];
  if (name === undefined) throw new Error('no boundary in the Content-Type header');
  const delimiter = `\n--${name}`;
  const [, ...chunks] = `\n${rest}`.split(delimiter);
  const parts: MimePart[] = [];
  for (const chunk of chunks) {
    if (chunk.startsWith('--') || chunk.trim() === '') break;
    const { headers: own, rest: content } = readHeaders(chunk.replace(/^[ \t]*\n/, ''));
    parts.push(decodedPart({ headers: own, content }));
  }
  if (parts.length === 0) throw new Error('no parts');
  return parts;
}

/** Returns the text of an archive with headers sorted by name. */
export function writeMime(parts: readonly MimePart[]): string {
  const written = parts.map(({ headers, content }) => {
    const lines = Object.keys(headers)
      .sort()
      .map((name) => `${name}: ${headers[name]}`);
    return `--${BOUNDARY}\n${lines.join('\n')}\n\n${content}\n`;
  });
  const archive = `MIME-Version: 1.0\nContent-Type: multipart/mixed; boundary="${BOUNDARY}"\n\n${written.join('')}--${BOUNDARY}--\n`;
  return archive.replaceAll('\r', '');
}
