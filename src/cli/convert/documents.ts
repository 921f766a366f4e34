/**
 * Reads and writes manifests from files, folders and standard input. Edits keep comments, order and anchors. Unchanged
 * documents keep every byte.
 */
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { Document, isAlias, isMap, isNode, isSeq, parseAllDocuments, type YAMLMap } from 'yaml';
import { InputError, messageOf } from '../objects/errors.ts';
import { readStandardInput, readText } from '../objects/text.ts';
import { substituted, templateRemedy, type Variables } from './placeholders.ts';
import { styleOf, type TextStyle, textOf, withSourceNumbers } from './style.ts';

const MANIFEST_FILE = /\.(ya?ml|json)$/;

export interface SourceDocument {
  /** Place in error messages: `pools.yaml, document 2`. */
  readonly where: string;
  /** Parsed document. Code that edits it must set `isChanged`. */
  readonly document: Document;
  /** Text that was read, with the separator line before this document. */
  readonly original: string;
  isChanged: boolean;
  /** New objects after this document, each in its own document. */
  readonly added: Document[];
  /** Comment that is written instead of this document. */
  replacement?: string;
}

export interface SourceFile {
  /** Path as on the command line or in the folder, or `standard input`. */
  readonly name: string;
  readonly text: string;
  readonly isJson: boolean;
  readonly style: TextStyle;
  readonly documents: readonly SourceDocument[];
}

export const STANDARD_INPUT = 'standard input';

export interface ReadFiles {
  readonly files: readonly SourceFile[];
  /** One error for each file that cannot be used. The remaining files are still read. */
  readonly errors: readonly InputError[];
}

/**
 * Reads the paths of `-f` in the order of their names. Reads a repeated file once.
 *
 * @param recursive whether to read subfolders, except subfolders whose name starts with a dot
 * @param set values of placeholders in templates
 */
export function readFiles(
  paths: readonly string[],
  { recursive = false, set = new Map() }: { readonly recursive?: boolean; readonly set?: Variables } = {},
): ReadFiles {
  const errors: InputError[] = [];
  const attempt = <T>(read: () => readonly T[]): readonly T[] => {
    try {
      return read();
    } catch (error) {
      if (!(error instanceof InputError)) throw error;
      errors.push(error);
      return [];
    }
  };
  const names = new Set(paths.flatMap((path) => attempt(() => (path === '-' ? [path] : filesOf(path, recursive)))));
  const files = [...names].flatMap((name) =>
    attempt(() =>
      name === '-'
        ? [parseFile(substituted(readStandardInput(), set), STANDARD_INPUT)]
        : [parseFile(substituted(readText(name), set), name)],
    ),
  );
  return { files, errors };
}

function filesOf(path: string, recursive: boolean): readonly string[] {
  let isFolder: boolean;
  try {
    isFolder = statSync(path).isDirectory();
  } catch (error) {
    throw new InputError(path, 'no such file or folder', { cause: error });
  }
  if (!isFolder) return [path];
  const files = filesIn(path, recursive);
  if (files.length > 0) return files;
  const deeper = recursive ? '' : '; use -R to include subfolders';
  throw new InputError(path, `the folder contains no .yaml, .yml or .json file${deeper}`);
}

function filesIn(folder: string, recursive: boolean): readonly string[] {
  const entries = readdirSync(folder, { withFileTypes: true }).sort((a, b) => (a.name < b.name ? -1 : 1));
  return entries.flatMap((entry) => {
    const path = join(folder, entry.name);
    if (entry.isDirectory()) return recursive && !entry.name.startsWith('.') ? filesIn(path, true) : [];
    return MANIFEST_FILE.test(entry.name) ? [path] : [];
  });
}

const BYTE_ORDER_MARK = '\uFEFF';

/** @throws InputError with the line if the text is neither YAML nor JSON, or is too deep or too large */
export function parseFile(text: string, name: string): SourceFile {
  const mark = text.startsWith(BYTE_ORDER_MARK) ? BYTE_ORDER_MARK : '';
  const body = text.slice(mark.length);
  const json = jsonDocument(body, name);
  const documents = json ?? yamlDocuments(body, name);
  const [first] = documents;
  const marked = documents.map((one) => (one === first ? { ...one, original: mark + one.original } : one));
  return { name, text, isJson: json !== undefined, style: styleOf(text), documents: marked };
}

/** Parses JSON. This is faster than parsing YAML. Returns undefined if the text is not JSON. */
function jsonDocument(text: string, name: string): readonly SourceDocument[] | undefined {
  if (!/^\s*[[{]/.test(text)) return undefined;
  let value: unknown;
  try {
    value = JSON.parse(text);
  } catch (error) {
    if (!name.endsWith('.json')) return undefined; // YAML in flow style starts with a brace as well
    throw new InputError(name, `not valid JSON: ${messageOf(error)}`, { cause: error });
  }
  const where = `${name}, document 1`;
  const document = guardParser(name, () => {
    checkDepth(value, name);
    return new Document(value, { aliasDuplicateObjects: false });
  });
  return [{ where, document, original: text, isChanged: false, added: [] }];
}

function yamlDocuments(text: string, name: string): readonly SourceDocument[] {
  const documents = guardParser(name, () =>
    parseAllDocuments(text, { merge: true, uniqueKeys: true, customTags: withSourceNumbers }),
  );
  let start = 0;
  return (Array.isArray(documents) ? documents : []).map((document, index) => {
    const [error] = document.errors;
    if (error !== undefined) throw invalid(error, text, name);
    guardParser(name, () => new Measurement(name).sizeOf(document.contents, 0));
    const end = index === documents.length - 1 ? text.length : document.range[2];
    const original = text.slice(start, end);
    start = end;
    return { where: `${name}, document ${index + 1}`, document, original, isChanged: false, added: [] };
  });
}

const TEMPLATE = /\{\{|%\{|\$\{/;

function invalid(error: Error & { linePos?: readonly { line: number }[] }, text: string, name: string): InputError {
  const line = error.linePos?.[0]?.line;
  const where = line === undefined ? name : `${name}, line ${line}`;
  const [what = ''] = error.message.split('\n', 1);
  const remedy = TEMPLATE.test(text) ? `; the file looks like a template; ${templateRemedy(text)}` : '';
  const reason = what.replace(/:$/, '').replace(/ at line \d+, column \d+$/, '');
  return new InputError(where, `not valid YAML: ${reason}${remedy}`, { cause: error });
}

/** @throws InputError if the parser fails because of deep nesting */
function guardParser<T>(name: string, work: () => T): T {
  try {
    return work();
  } catch (error) {
    if (error instanceof InputError) throw error;
    const what = error instanceof RangeError ? 'is nested too deeply' : `not valid YAML: ${messageOf(error)}`;
    throw new InputError(name, what, { cause: error });
  }
}

/** Returns the new text of a file. */
export function renderFile(file: SourceFile): string {
  const { documents, style, isJson } = file;
  if (!documents.some(isTouched)) return file.text;
  if (isJson) return documents.map((one) => jsonText(one, style)).join('');
  return joinTexts(documents.flatMap((one) => yamlTexts(one, style)));
}

const isTouched = ({ isChanged, added, replacement }: SourceDocument): boolean =>
  isChanged || added.length > 0 || replacement !== undefined;

function jsonText({ document, original, isChanged, added, replacement }: SourceDocument, style: TextStyle): string {
  if (!isChanged && added.length === 0 && replacement === undefined) return original;
  const values = [...(replacement === undefined ? [document] : []), ...added].map((one) => one.toJS() as unknown);
  const [only] = values;
  const value = values.length === 1 ? only : { apiVersion: 'v1', kind: 'List', items: values };
  return `${JSON.stringify(value, null, style.indent)}\n`;
}

function yamlTexts(source: SourceDocument, style: TextStyle): readonly string[] {
  const { document, original, isChanged, added, replacement } = source;
  const rest = added.map((one) => `---\n${textOf(one, style)}`);
  if (replacement !== undefined) {
    const separator = original.startsWith('---') ? '---\n' : '';
    return [`${separator}${replacement.replace(/^/gm, '# ')}\n`, ...rest];
  }
  return [isChanged ? textOf(document, style) : original, ...rest];
}

/** Concatenates texts. Each text except the last ends with a newline. */
function joinTexts(texts: readonly string[]): string {
  return texts.map((text, index) => (index < texts.length - 1 && !text.endsWith('\n') ? `${text}\n` : text)).join('');
}

/** Renders all files as one stream of documents. */
export function renderAll(files: readonly SourceFile[]): string {
  const texts = files.map(renderFile).filter((text) => text.trim() !== '');
  const [first = '', ...rest] = texts;
  const separated = rest.map((text) => (isSeparated(text) ? text : `---\n${text}`));
  return joinTexts([first, ...separated]);
}

/** Returns true if the first line that is neither empty nor a comment is a document separator. */
const isSeparated = (text: string): boolean =>
  text
    .split('\n')
    .find((line) => line.trim() !== '' && !line.startsWith('#'))
    ?.startsWith('---') ?? false;

/** Creates a document with one object. */
export const newDocument = (object: unknown): Document =>
  isNode(object) ? documentOf(object as YAMLMap) : new Document(object, { aliasDuplicateObjects: false });

function documentOf(map: YAMLMap): Document {
  const document = new Document(null, { merge: true });
  document.contents = map as unknown as typeof document.contents;
  return document;
}

/** Maximum depth. Objects of Kubernetes are much less deep. */
const MOST_LEVELS = 200;
/** Maximum number of fields. An object that fits in etcd has fewer. */
const MOST_NODES_BY_ALIASES = 1_000_000;

/** @throws InputError if plain data is nested too deeply */
function checkDepth(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS) throw new InputError(where, `is nested more than ${MOST_LEVELS} levels deep`);
    level = level.flatMap((one) => (typeof one === 'object' && one !== null ? Object.values(one) : []));
  }
}

/** @throws InputError if the document is too deep, contains itself, or its aliases expand beyond the limit */
class Measurement {
  readonly #where: string;
  readonly #sizes = new Map<unknown, number>();
  readonly #open = new Set<unknown>();
  /** Anchors in the order of the text, because a later anchor may redefine an earlier one. */
  readonly #anchors = new Map<string, unknown>();

  constructor(where: string) {
    this.#where = where;
  }

  sizeOf(node: unknown, depth: number): number {
    if (depth > MOST_LEVELS || this.#open.has(node))
      throw new InputError(
        this.#where,
        `is nested more than ${MOST_LEVELS} levels deep, or contains itself through an alias`,
      );
    const known = this.#sizes.get(node);
    if (known !== undefined) return known;
    if (isNode(node) && !isAlias(node) && node.anchor) this.#anchors.set(node.anchor, node);
    this.#open.add(node);
    let size = 1;
    for (const part of this.#partsOf(node)) size += this.sizeOf(part, depth + 1);
    this.#open.delete(node);
    if (isNode(node)) this.#sizes.set(node, size);
    if (size > MOST_NODES_BY_ALIASES && this.#anchors.size > 0)
      throw new InputError(this.#where, 'grows too large through its aliases; replace the aliases with their values');
    return size;
  }

  #partsOf(node: unknown): readonly unknown[] {
    if (isMap(node)) return node.items.flatMap(({ key, value }) => [key, value]);
    if (isSeq(node)) return node.items;
    if (!isAlias(node)) return [];
    const target = this.#anchors.get(node.source);
    if (target === undefined) throw new InputError(this.#where, `has an alias *${node.source} without an anchor`);
    return [target];
  }
}
