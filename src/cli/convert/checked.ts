/** Validates converted objects against the CustomResourceDefinitions of v1. */
import type { KubeObject } from '#api/objects';
import { InputError } from '../objects/errors.ts';
import { reviewOf } from '../objects/stored.ts';
import { hasTemplate, type ObjectEdit } from './edit.ts';
import { plain } from './nodes.ts';
import { fieldText, type Path } from './notes.ts';

/**
 * Removes fields that v1 does not have, and adds a note for each.
 *
 * @param isPatch whether fields may be missing
 * @throws InputError with every field that an API server would reject
 */
export function checkConverted(edit: ObjectEdit, { isPatch }: { readonly isPatch: boolean }): void {
  const before = plain(edit.root) as KubeObject;
  for (const field of [...reviewOf(before).unknown].reverse()) {
    const path = pathOf(field, before);
    if (path === undefined || path[0] === 'metadata') continue;
    remove(edit, path);
    edit.note('lost', path, 'is not a field of v1', path.slice(0, -1));
  }
  if (isPatch) return;
  const object = plain(edit.root) as KubeObject;
  const wrong = reviewOf(object).causes.filter(({ field }) => {
    const path = pathOf(field, object) ?? [];
    const isOpen = isTemplateAt(object, path);
    if (isOpen) edit.note('assumed', path, 'is a template and cannot be checked before it is rendered');
    return !isOpen;
  });
  if (wrong.length === 0) return;
  const text = wrong.map(({ field, message }) => `${field}: ${message}`).join('; ');
  throw new InputError(edit.where, `v1 rejects this value: ${text}`);
}

const isTemplateAt = (object: KubeObject, path: Path): boolean =>
  JSON.stringify(valueAt(object, path) ?? '')
    .split('"')
    .some(hasTemplate);

interface Faults {
  readonly isFaulty: boolean;
  /** Existing fields that an API server drops or rejects. */
  readonly fields: readonly string[];
}

/** Returns the faults of a v1 object. Fields of a patch may be missing. */
export function faultsOf(edit: ObjectEdit, { isPatch }: { readonly isPatch: boolean }): Faults {
  const object = plain(edit.root) as KubeObject;
  const { unknown, causes } = reviewOf(object);
  const pathIn = (field: string): Path => pathOf(field, object) ?? [];
  const isThere = (field: string): boolean =>
    fieldText(pathIn(field)) === field && valueAt(object, pathIn(field)) !== undefined;
  const rejected = causes
    .map(({ field }) => field)
    .filter((field) => !isTemplateAt(object, pathIn(field)) && !(isPatch && !isThere(field)));
  const faulty = [...new Set([...unknown, ...rejected])].filter((field) => !/^metadata\b/.test(field));
  return { isFaulty: faulty.length > 0, fields: faulty.filter(isThere) };
}

function remove(edit: ObjectEdit, path: Path): void {
  const last = path.at(-1);
  if (typeof last === 'number') edit.removeItem(path.slice(0, -1), last);
  else edit.remove(path);
}

/** Parses a field such as `spec.tags.a.b/c[0]` to its path in an object. Stops where the object has no such field. */
function pathOf(field: string, object: unknown): Path | undefined {
  if (field === '') return [];
  if (typeof object !== 'object' || object === null) return [];
  const index = /^\[(\d+)\]\.?/.exec(field);
  if (index !== null) {
    const position = Number(index[1]);
    const rest = pathOf(field.slice(index[0].length), (object as Record<number, unknown>)[position]);
    return rest && [position, ...rest];
  }
  // keys may contain dots; the longest matching key is the right one
  const [key] = Object.keys(object)
    .filter((name) => field === name || field.startsWith(`${name}.`) || field.startsWith(`${name}[`))
    .sort((a, b) => b.length - a.length);
  if (key === undefined) return [];
  const below = field.slice(key.length).replace(/^\./, '');
  const rest = pathOf(below, (object as Record<string, unknown>)[key]);
  return rest && [key, ...rest];
}

const valueAt = (object: unknown, path: Path): unknown =>
  path.reduce<unknown>((value, step) => (value as Record<string | number, unknown> | undefined)?.[step], object);
