/** What a conversion has to say about the objects that it changed: on standard error, and as comments at the fields. */
import { isMap, isScalar, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';

/**
 * `lost`: the input says something that Karpenter v1 cannot do. `assumed`: the output says something that the input left
 * open. `changed`: the same, said in another way, that a reader should know of.
 */
export type NoteLevel = 'lost' | 'assumed' | 'changed';

/** Keys of maps and positions in lists, from an object's root. */
export type Path = readonly (string | number)[];

export interface Note {
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

  /** Notes on one object. @param root the object's map, which gets the comments; none for what takes no comments */
  on(where: string, root?: YAMLMap): TakeNote {
    return (level, field, text, at = field) => {
      this.#all.push({ level, where, field: fieldText(field), text });
      if (root !== undefined) placeComment(root, at, ` ${level}: ${text}`);
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

/** Writes a comment above the field, or above the nearest one over it that exists. A comment is not written twice. */
export function placeComment(root: YAMLMap, path: Path, comment: string): void {
  let place: Node = root;
  let node: unknown = root;
  for (const step of path) {
    const found = isMap(node) ? memberOf(node, step) : isSeq(node) ? itemOf(node, step) : undefined;
    if (found === undefined) break;
    place = found.place ?? place;
    node = found.value;
  }
  addComment(place, comment);
}

/** A part of a collection, and the node above which its comment goes. */
interface Part {
  readonly place: Node | undefined;
  readonly value: unknown;
}

function memberOf(map: YAMLMap, name: string | number): Part | undefined {
  const pair = map.items.find(({ key }) => (isScalar(key) ? key.value : key) === name);
  return pair && { place: isScalar(pair.key) ? pair.key : undefined, value: pair.value };
}

/** The comment of a map in a list goes above its first key, which is after the dash. */
function itemOf(list: YAMLSeq, position: string | number): Part | undefined {
  const item: unknown = list.items[Number(position)];
  if (item === undefined) return undefined;
  const target = isMap(item) ? item.items[0]?.key : item;
  return { place: isScalar(target) ? target : undefined, value: item };
}

function addComment(node: Node, comment: string): void {
  const lines = node.commentBefore?.split('\n') ?? [];
  if (lines.includes(comment)) return;
  node.commentBefore = [...lines, comment].join('\n');
}
