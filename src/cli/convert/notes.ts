/** Notes about converted objects, which are printed on standard error and written as comments at the fields. */
import { isCollection, isMap, isNode, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { wrapped } from '../render/wrap.ts';

/**
 * Level of a note. `lost`: Karpenter v1 does not support a setting of the input. `assumed`: the output sets a value
 * that the input does not contain. `changed`: the output expresses the setting in a different way that the user
 * should review.
 */
export type NoteLevel = 'lost' | 'assumed' | 'changed';

/** Map keys and list positions, starting at the root of an object. */
export type Path = readonly (string | number)[];

interface Note {
  readonly level: NoteLevel;
  /** Place in messages: `pools.yaml, document 2, Provisioner default`. */
  readonly where: string;
  /** Field in the input: `spec.requirements[0].key`. */
  readonly field: string;
  readonly text: string;
}

/**
 * Adds a note on a field.
 *
 * @param field path in the input, which is reported
 * @param at path in the result for the comment, by default the path in the input; if this field does not exist, the
 * comment is placed at its nearest existing ancestor
 */
export type TakeNote = (level: NoteLevel, field: Path, text: string, at?: Path) => void;

const PLAIN_KEY = /^[A-Za-z_][\w-]*$/;

/** Renders a path: `spec.tags["example.com/a"][0]`. */
export const fieldText = (path: Path): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!PLAIN_KEY.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');

/** All notes of a run, in order of creation. */
export class Notes {
  readonly #all: Note[] = [];

  get all(): readonly Note[] {
    return this.#all;
  }

  /** Appends the notes of another list. */
  add(others: Notes): void {
    this.#all.push(...others.all);
  }

  /**
   * Returns a function that adds notes on one object.
   *
   * @param root map of the object for the comments; undefined if the file must not get comments
   */
  on(where: string, root?: YAMLMap): TakeNote {
    return (level, field, text, at = field) => {
      const short = shortenText(text);
      this.#all.push({ level, where, field: shortenText(fieldText(field)), text: short });
      if (root !== undefined) placeComment(root, at, commentText(`${level}: ${short}`));
    };
  }
}

/** Returns a function that adds notes on fields below a prefix. Its paths are relative to the prefix. */
export const below =
  (note: TakeNote, prefix: Path): TakeNote =>
  (level, field, text, at = field) =>
    note(level, [...prefix, ...field], text, [...prefix, ...at]);

/** Formats a note as one line for standard error. */
export const noteText = ({ level, where, field, text }: Note): string =>
  `${level}: ${where}: ${field === '' ? '' : `${field}: `}${text}`;

/** Maximum length of a note, because notes contain names and values of unlimited length. */
const MOST_CHARACTERS = 1000;

const shortenText = (text: string): string =>
  text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`;

const MOST_COLUMNS = 100;

/** Wraps text for a comment. Each line starts with the space that follows the `#`. */
const commentText = (text: string): string =>
  wrapped(text, MOST_COLUMNS)
    .map((line) => ` ${line}`)
    .join('\n');

/** Writes a comment above a field, or above its nearest existing ancestor. Does not write the same comment twice. */
export function placeComment(root: YAMLMap, path: Path, comment: string): void {
  let place: Node = root;
  let node: unknown = root;
  for (const step of path) {
    // content in brackets must stay on its line
    if (isCollection(node) && node.flow) break;
    const found: Part | undefined = isMap(node) ? memberOf(node, step) : isSeq(node) ? itemOf(node, step) : undefined;
    if (found === undefined) break;
    // the first field of an item is on the line of its dash
    const isOnItsLine = isMap(node) && place === node && node !== root && found.isFirst;
    if (!isOnItsLine) place = found.place ?? place;
    node = found.value;
  }
  addComment(place, comment);
}

/** Part of a collection, and the node that gets its comment. */
interface Part {
  readonly place: Node | undefined;
  readonly value: unknown;
  readonly isFirst?: boolean;
}

function memberOf(map: YAMLMap, name: string | number): Part | undefined {
  const pair = map.items.find(({ key }) => (isScalar(key) ? key.value : key) === name);
  return (
    pair && {
      place: isScalar(pair.key) ? pair.key : undefined,
      value: pair.value,
      isFirst: pair === map.items[0],
    }
  );
}

function itemOf(list: YAMLSeq, position: string | number): Part | undefined {
  const item: unknown = list.items[Number(position)];
  return item === undefined ? undefined : { place: isNode(item) ? item : undefined, value: item };
}

function addComment(node: Node, comment: string): void {
  const before = node.commentBefore ?? '';
  if (before === comment || before.endsWith(`\n${comment}`) || before.includes(`${comment}\n`)) return;
  node.commentBefore = before === '' ? comment : `${before}\n${comment}`;
}
