/** What a conversion has to say about the objects that it changed: on standard error, and as comments at the fields. */
import { isCollection, isMap, isNode, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { wrapped } from '../render/wrap.ts';

/**
 * `lost`: the input says something that Karpenter v1 cannot do. `assumed`: the output says something that the input left
 * open. `changed`: the same, said in another way, that a reader should know of.
 */
export type NoteLevel = 'lost' | 'assumed' | 'changed';

/** Keys of maps and positions in lists, from an object's root. */
export type Path = readonly (string | number)[];

interface Note {
  readonly level: NoteLevel;
  /** `pools.yaml, document 2, Provisioner default`. */
  readonly where: string;
  /** `spec.requirements[0].key`, as the input has it. */
  readonly field: string;
  readonly text: string;
}

/**
 * Takes a note on a field.
 *
 * @param field path in the input, which is what is reported
 * @param at path in the result, where the comment is placed; the nearest field above it that exists gets it.
 *   By default that of the input.
 */
export type TakeNote = (level: NoteLevel, field: Path, text: string, at?: Path) => void;

const PLAIN_KEY = /^[A-Za-z_][\w-]*$/;

/** `spec.tags["example.com/a"][0]`. */
export const fieldText = (path: Path): string =>
  path
    .map((step, index) => {
      if (typeof step === 'number') return `[${step}]`;
      if (!PLAIN_KEY.test(step)) return `[${JSON.stringify(step)}]`;
      return index === 0 ? step : `.${step}`;
    })
    .join('');

/** All notes of a run, in the order in which they were taken. */
export class Notes {
  readonly #all: Note[] = [];

  get all(): readonly Note[] {
    return this.#all;
  }

  /** Takes over the notes of others. */
  add(others: Notes): void {
    this.#all.push(...others.all);
  }

  /** Notes on one object. @param root the object's map, which gets the comments; none for what takes no comments */
  on(where: string, root?: YAMLMap): TakeNote {
    return (level, field, text, at = field) => {
      const short = shortened(text);
      this.#all.push({ level, where, field: shortened(fieldText(field)), text: short });
      if (root !== undefined) placeComment(root, at, commentText(`${level}: ${short}`));
    };
  }
}

/** Notes on what lies below a field, with paths that start there. */
export const below =
  (note: TakeNote, prefix: Path): TakeNote =>
  (level, field, text, at = field) =>
    note(level, [...prefix, ...field], text, [...prefix, ...at]);

/** One line for standard error. */
export const noteText = ({ level, where, field, text }: Note): string =>
  `${level}: ${where}: ${field === '' ? '' : `${field}: `}${text}`;

/** Names and values of users are part of notes. */
const MOST_CHARACTERS = 1000;

const shortened = (text: string): string =>
  text.length <= MOST_CHARACTERS ? text : `${text.slice(0, MOST_CHARACTERS)}… (${text.length} characters)`;

const MOST_COLUMNS = 100;

/** In lines that can be read, each with the blank that follows the `#`. */
const commentText = (text: string): string =>
  wrapped(text, MOST_COLUMNS)
    .map((line) => ` ${line}`)
    .join('\n');

/** Writes a comment above the field, or above the nearest one over it that exists. A comment is not written twice. */
export function placeComment(root: YAMLMap, path: Path, comment: string): void {
  let place: Node = root;
  let node: unknown = root;
  for (const step of path) {
    // what is in brackets stays on its line
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

/** A part of a collection, and the node above which its comment goes. */
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
