/** How a text is laid out, so that what is changed in it looks like the rest. */
import type { Document, ScalarTag, Tags } from 'yaml';

export interface TextStyle {
  /** Spaces per level. */
  readonly indent: number;
  /** Whether lists stand further in than the key that holds them. */
  readonly indentSeq: boolean;
  /** Whether there are spaces inside the brackets of flow collections. */
  readonly flowCollectionPadding: boolean;
  readonly newline: '\n' | '\r\n';
}

const MOST_INDENT = 8;
/** The layout of a text shows in its first lines. */
const MOST_LINES = 2000;

export function styleOf(text: string): TextStyle {
  const lines = text.split('\n', MOST_LINES).map((line) => line.trimEnd());
  const depths = lines.filter((line) => /^ +["'\w-]/.test(line)).map(depthOf);
  const indent = Math.min(...depths, MOST_INDENT);
  return {
    indent: depths.length === 0 || indent < 2 ? 2 : indent,
    indentSeq: !lines.some((line, index) => isKeyOfList(line, lines[index + 1] ?? '')),
    flowCollectionPadding: /[[{] [^\s}\]]/.test(text),
    newline: text.includes('\r\n') ? '\r\n' : '\n',
  };
}

const depthOf = (line: string): number => line.length - line.trimStart().length;

/** Whether a list begins on the next line, straight below its key. */
const isKeyOfList = (line: string, next: string): boolean =>
  line.endsWith(':') &&
  /^[^-#]/.test(line.trimStart()) &&
  next.trimStart().startsWith('- ') &&
  depthOf(line) === depthOf(next);

/** A document's text in this style. */
export function textOf(document: Document, { newline, ...style }: TextStyle): string {
  const text = document.toString({ ...style, lineWidth: 0, verifyAliasOrder: true });
  return newline === '\n' ? text : text.replaceAll('\n', newline);
}

const NUMBER_TAGS: ReadonlySet<string | undefined> = new Set(['tag:yaml.org,2002:int', 'tag:yaml.org,2002:float']);

/** Numbers are written as they were read: an account such as 012345678901 keeps its zero. */
export const withSourceNumbers = (tags: Tags): Tags =>
  tags.map((tag) => (typeof tag === 'object' && NUMBER_TAGS.has(tag.tag) ? asRead(tag as ScalarTag) : tag));

const asRead = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify: (item, ...rest) =>
    item.source !== undefined && Number(item.source) === item.value
      ? item.source
      : (tag.stringify?.(item, ...rest) ?? String(item.value)),
});
