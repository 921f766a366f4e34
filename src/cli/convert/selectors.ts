/**
 * Converts selectors of the alpha API to selector terms. These selectors are tag maps with special keys and
 * comma-separated lists.
 */
import { hasTemplate, type ObjectEdit } from './edit.ts';
import type { Path } from './notes.ts';

interface Term {
  readonly id?: string;
  readonly name?: string;
  readonly owner?: string;
  readonly tags?: Readonly<Record<string, string>>;
}

const IDS = ['aws-ids', 'aws::ids'];
const NAME = 'aws::name';
const OWNERS = 'aws::owners';
/** Maximum number of terms in the CRDs of v1. */
const MOST_TERMS = 30;

interface Selector {
  /** Alpha field, for example `subnetSelector`. */
  readonly field: string;
  /** v1 field, for example `subnetSelectorTerms`. */
  readonly terms: string;
  /** True if this selector selects images, which may also be selected by name and owner. */
  readonly isOfImages?: boolean;
}

export const SUBNETS: Selector = { field: 'subnetSelector', terms: 'subnetSelectorTerms' };
export const SECURITY_GROUPS: Selector = { field: 'securityGroupSelector', terms: 'securityGroupSelectorTerms' };
export const IMAGES: Selector = { field: 'amiSelector', terms: 'amiSelectorTerms', isOfImages: true };

/**
 * Converts a selector. Returns without changes if the object has no such selector.
 *
 * @throws InputError if the selector cannot be expressed as terms
 */
export function convertSelector(edit: ObjectEdit, selector: Selector): void {
  const path = ['spec', selector.field];
  const keys = edit.keys(path);
  if (keys.length === 0) {
    edit.removeEmpty(path);
    return;
  }
  const terms = termsOf(edit, path, selector);
  if (terms.length > MOST_TERMS)
    edit.fail(path, `becomes ${terms.length} selector terms, but v1 allows ${MOST_TERMS}; use fewer values`);
  const [only] = keys;
  edit.replaceValue(path, terms);
  edit.rename(path, selector.terms);
  if (terms.length > 1 && keys.length === 1 && only !== undefined && !IDS.includes(only))
    edit.note('changed', [...path, only], 'each value of a comma-separated list is now a term', [
      'spec',
      selector.terms,
    ]);
}

function termsOf(edit: ObjectEdit, path: Path, { isOfImages = false, terms }: Selector): readonly Term[] {
  const keys = edit.keys(path);
  const values = (key: string): readonly string[] => valuesOf(edit, [...path, key], ['spec', terms]);
  const idKeys = keys.filter((key) => IDS.includes(key));
  if (idKeys.length > 0) {
    const others = keys.filter((key) => !IDS.includes(key));
    if (others.length > 0) {
      const text = `${others.join(', ')}: terms with an ID cannot have other fields; only the IDs are kept`;
      edit.note('lost', path, text, ['spec', terms]);
    }
    return idKeys.flatMap(values).map((id) => ({ id }));
  }
  const isSpecial = (key: string): boolean => isOfImages && (key === NAME || key === OWNERS);
  const tags = combinations(keys.filter((key) => !isSpecial(key)).map((key) => [key, values(key)]));
  if (!isOfImages) return tags.map((one) => ({ tags: one }));
  const owners: readonly (string | undefined)[] = keys.includes(OWNERS) ? values(OWNERS) : [undefined];
  const isByOwnerAlone = keys.every((key) => key === OWNERS);
  // a term with only an owner is not valid, so the name `*` is added
  const names = keys.includes(NAME) ? values(NAME) : [isByOwnerAlone ? '*' : undefined];
  return names.flatMap((name) => owners.flatMap((owner) => tags.map((one) => imageTerm(name, owner, one))));
}

const imageTerm = (
  name: string | undefined,
  owner: string | undefined,
  tags: Readonly<Record<string, string>>,
): Term => ({
  ...(name === undefined ? {} : { name }),
  ...(owner === undefined ? {} : { owner }),
  ...(Object.keys(tags).length === 0 ? {} : { tags }),
});

/** Splits a comma-separated list. `*` matches any value. */
function valuesOf(edit: ObjectEdit, path: Path, at: Path): readonly string[] {
  const text = edit.textOrNumber(path) ?? '';
  if (hasTemplate(text)) {
    if (text.includes(','))
      edit.note('assumed', path, 'the template is one value; a comma-separated list needs one term for each value', at);
    return [text];
  }
  const values = text
    .split(',')
    .map((value) => value.trim())
    .filter((value) => value !== '');
  return values.length === 0 ? ['*'] : [...new Set(values)];
}

/** Returns one map for each combination of values. */
const combinations = (
  entries: readonly (readonly [key: string, values: readonly string[]])[],
): readonly Readonly<Record<string, string>>[] =>
  entries.reduce<readonly Readonly<Record<string, string>>[]>(
    (maps, [key, values]) =>
      maps.length > MOST_TERMS ? maps : values.flatMap((value) => maps.map((map) => ({ ...map, [key]: value }))),
    [{}],
  );
