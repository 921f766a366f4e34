/** Reports old names in fields that are not converted, for example in policies, custom resources and templates as text. */
import { isMap, isScalar, isSeq } from 'yaml';
import { entriesOf, keyOf, resolveAlias } from './nodes.ts';
import { fieldText, type Path, type TakeNote } from './notes.ts';
import type { FoundObject } from './objects.ts';
import { ANNOTATIONS, AWS_V1, GONE_LABELS, RENAMED_LABELS, V1 } from './renames.ts';

/** Old names with their names in v1. Names without a successor have an explanation. */
const NAMES: ReadonlyMap<string, string> = new Map([
  ...[...RENAMED_LABELS, ...ANNOTATIONS].map(([old, name]) => [old, `is now ${name}`] as const),
  ...GONE_LABELS,
  ...['v1alpha5', 'v1beta1'].map((version) => [`karpenter.sh/${version}`, `is now ${V1}`] as const),
  ...['v1alpha1', 'v1beta1'].map((version) => [`karpenter.k8s.aws/${version}`, `is now ${AWS_V1}`] as const),
]);
/** Pattern of each name. JSON pointers write its slash as `~1`. */
const patterns = [...NAMES.keys()].map((name) => name.replaceAll('.', '[.]').replace('/', '(?:/|~1)'));
const OLD_NAME = new RegExp(String.raw`(?<![\w.-])(?:${patterns.join('|')})(?![\w-]|[.]\w)`, 'g');

/** Maximum number of notes for one object. */
const MOST_NOTES = 20;
const DEEPEST = 100;

/** Kinds whose descriptions and schemas contain the old names, and that are replaced as a whole. */
const REPLACED = new Set(['CustomResourceDefinition']);

/** Group of Kustomizations, whose targets and patches have notes of their own. */
const KUSTOMIZE = 'kustomize.config.k8s.io/';

/** A function that adds notes, and the fields that have notes. */
export function rememberFields(note: TakeNote): { readonly note: TakeNote; readonly fields: ReadonlySet<string> } {
  const fields = new Set<string>();
  const remember: TakeNote = (level, field, text, at = field) => {
    fields.add(fieldText(field)).add(fieldText(at));
    note(level, field, text, at);
  };
  return { note: remember, fields };
}

/** Adds a note for each field with an old name, unless the field has a note. The fields are unchanged. */
export function noteOldNames(found: FoundObject, note: TakeNote, noted: ReadonlySet<string>): void {
  if (REPLACED.has(found.kind) || found.apiVersion.startsWith(KUSTOMIZE)) return;
  const { document } = found.source;
  let left = MOST_NOTES;
  const report = (text: unknown, path: Path): void => {
    if (typeof text !== 'string' || left === 0 || noted.has(fieldText(path))) return;
    const names = new Set((text.match(OLD_NAME) ?? []).map((name) => name.replace('~1', '/')));
    if (names.size === 0) return;
    left -= 1;
    const meanings = [...names].map((name) => `${name}: ${NAMES.get(name)}`);
    note('lost', path, `is unchanged, but contains old names; ${meanings.join('; ')}`);
  };
  const visit = (node: unknown, path: Path): void => {
    if (left === 0 || path.length > DEEPEST) return;
    const value = resolveAlias(node, document);
    if (isMap(value))
      for (const pair of entriesOf(value, document)) {
        const below = [...path, String(keyOf(pair))];
        report(keyOf(pair), below);
        visit(pair.value, below);
      }
    else if (isSeq(value)) for (const [index, item] of value.items.entries()) visit(item, [...path, index]);
    else if (isScalar(value)) report(value.value, path);
  };
  visit(found.map, []);
}
