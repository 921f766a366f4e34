/** Reads the file of `--sets`, a list of sets of settings. See docs/replay.md. */
import { isAbsolute, resolve } from 'node:path';
import { parse } from 'yaml';
import { type Field, nearestName, quoted } from '#lib';
import { fieldIn } from '../objects/check.ts';
import { InputError, messageOf } from '../objects/errors.ts';

/** Merge patch (RFC 7386) for one object, or for all objects of a kind. */
export interface Patch {
  readonly kind: string;
  /** Name of the object, or `*` for all objects of the kind. */
  readonly name: string;
  readonly namespace?: string;
  readonly patch: Readonly<Record<string, unknown>>;
}

export interface DeclaredSet {
  readonly name: string;
  readonly args: readonly string[];
  /** Files and folders with manifests that are added to the common manifests, or replace them. */
  readonly objects: readonly string[];
  readonly patch: readonly Patch[];
  /** Place in messages. */
  readonly where: string;
}

const FIELDS = ['name', 'args', 'objects', 'patch'];
const PATCH_FIELDS = ['kind', 'name', 'namespace', 'patch'];

/**
 * @param file path of the file; its paths are relative to its folder
 * @throws InputError with the file, the set and the field
 */
export function readSets(text: string, file: string): readonly DeclaredSet[] {
  const root = fieldIn(file, parseSets(text, file), 'sets');
  if (!Array.isArray(root.value)) return root.fail('must be a list of sets, each with a name');
  if (root.value.length === 0) return root.fail('is empty; add at least one set');
  const folder = resolve(file, '..');
  return root.items().map((item) => setOf(item, file, folder));
}

function parseSets(text: string, file: string): unknown {
  try {
    return parse(text, { maxAliasCount: 100 });
  } catch (error) {
    throw new InputError(file, `not valid YAML: ${messageOf(error).split('\n', 1)[0]}`, { cause: error });
  }
}

function setOf(item: Field, file: string, folder: string): DeclaredSet {
  onlyKnown(item, FIELDS);
  const name = nameOf(item.at('name'));
  return {
    name,
    args: item.at('args').items().map(textOf),
    objects: item
      .at('objects')
      .items()
      .map(textOf)
      .map((path) => (isAbsolute(path) ? path : resolve(folder, path))),
    patch: item.at('patch').items().map(patchOf),
    where: `${file}, set ${quoted(name)}`,
  };
}

function patchOf(item: Field): Patch {
  onlyKnown(item, PATCH_FIELDS);
  const patch = item.at('patch').required().object().value as Patch['patch'];
  const namespace = item.at('namespace').given?.text();
  return {
    kind: nameOf(item.at('kind')),
    name: nameOf(item.at('name')),
    ...(namespace !== undefined && { namespace }),
    patch,
  };
}

/** Reads text. Also accepts numbers and booleans without quotes: `args: [--packing=compatible, 5]`. */
function textOf(item: Field): string {
  const { value } = item.required();
  if (typeof value === 'string' || typeof value === 'number' || typeof value === 'boolean') return String(value);
  return item.fail(`must be a string, not ${JSON.stringify(value)}`);
}

function nameOf(field: Field): string {
  return field.text() || field.fail('must not be empty');
}

function onlyKnown(item: Field, known: readonly string[]): void {
  for (const key of item.required().keys()) {
    if (known.includes(key)) continue;
    const near = nearestName(key, known);
    item
      .at(key)
      .fail(
        `unknown field${near === undefined ? `; use one of ${known.join(', ')}` : `; did you mean ${quoted(near)}?`}`,
      );
  }
}
