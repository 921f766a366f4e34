/** Detects the layout of a text, so that edits match it. */
import type { Document, ScalarTag, Tags } from 'yaml';

export interface TextStyle {
  /** Spaces per level. */
  readonly indent: number;
  /** True if list items are indented relative to their key. */
  readonly indentSeq: boolean;
  /** True if flow collections have spaces inside their brackets. */
  readonly flowCollectionPadding: boolean;
  readonly newline: '\n' | '\r\n';
}

const MOST_INDENT = 8;
/** Maximum number of lines from which the layout is detected. */
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

/** Returns true if a list starts on the next line with the same indentation as its key. */
const isKeyOfList = (line: string, next: string): boolean =>
  line.endsWith(':') &&
  /^[^-#]/.test(line.trimStart()) &&
  next.trimStart().startsWith('- ') &&
  depthOf(line) === depthOf(next);

/** Renders a document in this style. */
export function textOf(document: Document, { newline, ...style }: TextStyle): string {
  const text = document.toString({ ...style, lineWidth: 0, verifyAliasOrder: true });
  return newline === '\n' ? text : text.replaceAll('\n', newline);
}

const NUMBER_TAGS: ReadonlySet<string | undefined> = new Set(['tag:yaml.org,2002:int', 'tag:yaml.org,2002:float']);

/** Writes numbers in their original notation, so that an account ID such as 012345678901 keeps its leading zero. */
export const withSourceNumbers = (tags: Tags): Tags =>
  tags.map((tag) => (typeof tag === 'object' && NUMBER_TAGS.has(tag.tag) ? asRead(tag as ScalarTag) : tag));

const asRead = (tag: ScalarTag): ScalarTag => ({
  ...tag,
  stringify: (item, ...rest) =>
    item.source !== undefined && Number(item.source) === item.value
      ? item.source
      : (tag.stringify?.(item, ...rest) ?? String(item.value)),
});
