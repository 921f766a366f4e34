/**
 * Reads the sets of settings that a trace is played with, from `--sets` and `--compare`. The manifests of `-f` are
 * common to all sets.
 */

import type { KubeObject } from '#api/objects';
import { AWS_OPERATOR_OPTIONS, parseAwsSettings } from '#aws/settings';
import { isObject, type JsonObject, nearestName, own, quoted, shellWords } from '#lib';
import { applyMergePatch } from '#local/api-conventions';
import { HelpRequested, SettingsError } from '#process/settings';
import type { SettingsSet } from '#replay/run';
import { InputError } from '../objects/errors.ts';
import { applyManifests, identityOf, type Manifest, readManifests, readText } from '../objects/read.ts';
import { notAmong } from '../render/known.ts';
import { type Beginning, checkNodePools, givenObjects } from './objects.ts';
import { type DeclaredSet, type Patch, readSets } from './sets-file.ts';

/** Required setting of the operator. The name of a replay's cluster has no meaning. */
const ENVIRONMENT = { CLUSTER_NAME: 'replay' };

const FLAGS: readonly string[] = Object.values(AWS_OPERATOR_OPTIONS).map(({ flag }) => flag);

/**
 * Checks arguments and returns notes about valid arguments without effect.
 *
 * @param where option that contains the arguments, such as `--compare ours`
 * @throws InputError with the argument, and with a similar flag if one exists
 */
function checkArguments(args: readonly string[], where: string): readonly string[] {
  try {
    return parseAwsSettings(args, ENVIRONMENT).ignored.map((note) => `${where}: ${note}`);
  } catch (error) {
    if (error instanceof HelpRequested)
      throw new InputError(where, `${helpOf(args)} is not a setting; see docs/reference/settings.md`, {
        cause: error,
      });
    if (!(error instanceof SettingsError)) throw error;
    throw new InputError(where, `${error.message}${meant(args)}`, { cause: error });
  }
}

const helpOf = (args: readonly string[]): string => args.find((each) => /^--?h(?:elp)?$/.test(each)) ?? '--help';

/** Suggests a similar flag for the first unknown flag. */
function meant(args: readonly string[]): string {
  for (const argument of args) {
    const flag = /^--?([^-=][^=]*)/.exec(argument)?.[1];
    if (flag === undefined || FLAGS.includes(flag)) continue;
    const near = nearestName(flag, FLAGS);
    if (near !== undefined) return `; did you mean ${quoted(`--${near}`)}?`;
  }
  return '';
}

/** Name of the set without settings. */
const DEFAULT_SET = 'default';

export interface SetsOptions {
  /** File of `--sets`. */
  readonly sets?: string;
  /** Arguments of `--compare`, each `NAME=ARGS`. */
  readonly compare?: readonly string[];
  /** File of `--price-book`, for sets without their own. */
  readonly priceBook?: string;
  /** Manifests of `-f`. */
  readonly manifests: readonly Manifest[];
  /** Name of the manifests' source in messages. */
  readonly source: string;
  /** NodePools and NodeClasses at the start of the trace. */
  readonly beginning: Beginning;
}

interface ReadSets {
  readonly sets: readonly SettingsSet[];
  readonly notes: readonly string[];
}

/** @throws InputError with the file or option, the set and the field */
export function setsOf(options: SetsOptions): ReadSets {
  const notes = new Set<string>();
  const declared = distinct(declarationsOf(options));
  const before = givenObjects(options.manifests);
  for (const note of before.notes) notes.add(note);
  const sets = declared.map((set): SettingsSet => {
    const args = withBook(set.args, options.priceBook);
    for (const note of checkArguments(args, set.where)) notes.add(note);
    const manifests = manifestsOf(set, options.manifests);
    checkNodePools(manifests, options.beginning, options.source);
    const { objects, notes: ofObjects } =
      set.objects.length + set.patch.length === 0 ? before : givenObjects(manifests);
    for (const note of ofObjects) notes.add(note);
    return { name: set.name, says: saysOf(args, before.objects, objects), args, objects };
  });
  return { sets, notes: [...notes] };
}

const saysOf = (
  args: readonly string[],
  before: readonly KubeObject[],
  after: readonly KubeObject[],
): readonly string[] => [...args, ...objectDifferences(before, after)];

/** Returns all sets. Without `--sets`, adds the default set if `--compare` defines at most one set. */
function declarationsOf({ sets, compare = [] }: SetsOptions): readonly DeclaredSet[] {
  const compared = compare.map(comparedSet);
  const ofFile = sets === undefined ? [] : readSets(readText(sets), sets);
  const all = [...ofFile, ...compared];
  const isAlone = sets === undefined && all.length < 2 && all[0]?.name !== DEFAULT_SET;
  return isAlone ? [{ name: DEFAULT_SET, args: [], objects: [], patch: [], where: DEFAULT_SET }, ...all] : all;
}

function comparedSet(text: string): DeclaredSet {
  const at = text.indexOf('=');
  const name = text.slice(0, Math.max(0, at)).trim();
  const where = `--compare ${quoted(text)}`;
  if (name === '' || name.startsWith('-'))
    throw new InputError(
      where,
      "expected NAME=ARGS, for example compatible='--packing=compatible --consolidation=compatible'",
    );
  return { name, args: wordsOf(text.slice(at + 1), where), objects: [], patch: [], where };
}

function distinct(sets: readonly DeclaredSet[]): readonly DeclaredSet[] {
  const names = new Set<string>();
  for (const { name, where } of sets) {
    if (names.has(name))
      throw new InputError(where, `the name ${quoted(name)} is already used by another set; choose another name`);
    names.add(name);
  }
  return sets;
}

const BOOK = /^--?price-book(?:=|$)/;

const withBook = (args: readonly string[], book: string | undefined): readonly string[] =>
  book === undefined || args.some((each) => BOOK.test(each)) ? args : [...args, `--price-book=${book}`];

function manifestsOf({ objects, patch, where }: DeclaredSet, common: readonly Manifest[]): readonly Manifest[] {
  return patch.reduce(
    (manifests, each, index) => patchManifests(manifests, each, `${where}, patch[${index}]`),
    objects.length === 0 ? common : applyManifests(common, readManifests(objects)),
  );
}

function patchManifests(manifests: readonly Manifest[], change: Patch, where: string): readonly Manifest[] {
  const { kind, name, namespace } = change;
  const isMeant = ({ object }: Manifest): boolean =>
    object.kind === kind &&
    (name === '*' || object.metadata.name === name) &&
    (namespace === undefined || (object.metadata.namespace ?? 'default') === namespace);
  if (!manifests.some(isMeant)) {
    const known = manifests.flatMap(({ object }) => (object.kind === kind ? [object.metadata.name] : []));
    throw new InputError(where, notAmong(kind, name, { known, where: 'in the manifests' }));
  }
  return manifests.map((manifest) => {
    if (!isMeant(manifest)) return manifest;
    const { object } = manifest;
    const after = applyMergePatch(object, change.patch) as KubeObject;
    if (after.kind !== kind || after.apiVersion !== object.apiVersion || after.metadata?.name !== object.metadata.name)
      throw new InputError(where, 'patch: must not change apiVersion, kind or metadata.name');
    return { ...manifest, object: after, where: `${where}, ${kind} ${object.metadata.name}` };
  });
}

/** Escaped characters and closed quotes. */
const CLOSED = /\\[\s\S]|"(?:\\[\s\S]|[^"\\])*"|'[^']*'/g;

/**
 * Returns the words of a line.
 *
 * @param where place of the line in messages
 * @throws InputError if a quote is not closed, or if the line ends with a backslash
 */
export function wordsOf(line: string, where: string): readonly string[] {
  const [open] = /["'\\]/.exec(line.replace(CLOSED, '')) ?? [];
  if (open === '\\') throw new InputError(where, 'backslash at the end; write \\\\ for a backslash');
  if (open !== undefined) throw new InputError(where, `unclosed quote ${open}`);
  return shellWords(line);
}

/** Maximum length of a value. Longer values are truncated. */
const LONGEST = 60;
/** Maximum number of listed changes per object. Further changes are only counted. */
const MOST = 8;

/**
 * Returns a line for each object that only one cluster has, and for each changed field: `NodePool web: spec.weight 1
 * → 5`.
 */
export function objectDifferences(before: readonly KubeObject[], after: readonly KubeObject[]): readonly string[] {
  const known = new Map(before.map((object) => [identityOf(object), object]));
  const lines = after.flatMap((object) => {
    const was = known.get(identityOf(object));
    known.delete(identityOf(object));
    if (was === undefined) return [`${nameOf(object)}: added`];
    const changed = changesOf(was, object);
    const more = changed.length - MOST;
    return [...changed.slice(0, MOST), ...(more > 0 ? [`and ${more} more fields`] : [])].map(
      (line) => `${nameOf(object)}: ${line}`,
    );
  });
  return [...lines, ...[...known.values()].map((object) => `${nameOf(object)}: removed`)];
}

const nameOf = ({ kind, metadata: { namespace, name } }: KubeObject): string =>
  `${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}`;

function changesOf(before: unknown, after: unknown, path = ''): readonly string[] {
  if (JSON.stringify(before) === JSON.stringify(after)) return [];
  const [from, to] = [fieldsOf(before), fieldsOf(after)];
  if (from === undefined || to === undefined) return [`${path} ${formatValue(before)} → ${formatValue(after)}`];
  const isList = Array.isArray(after);
  return [...new Set([...Object.keys(from), ...Object.keys(to)])].flatMap((key) =>
    changesOf(own(from, key), own(to, key), isList ? `${path}[${key}]` : `${path}${path === '' ? '' : '.'}${key}`),
  );
}

/**
 * Returns the fields of an object. A list whose items have keys or names, such as requirements, is treated as an
 * object.
 */
function fieldsOf(value: unknown): JsonObject | undefined {
  if (!Array.isArray(value)) return isObject(value) ? value : undefined;
  const named = value.flatMap((item): readonly (readonly [string, unknown])[] => {
    const name = isObject(item) ? (item.key ?? item.name) : undefined;
    return typeof name === 'string' ? [[name, item]] : [];
  });
  const fields = Object.fromEntries(named);
  return Object.keys(fields).length === value.length ? fields : undefined;
}

function formatValue(value: unknown): string {
  if (value === undefined) return 'unset';
  const text = typeof value === 'string' ? value : JSON.stringify(value);
  return text.length > LONGEST ? `${text.slice(0, LONGEST)}…` : text;
}
