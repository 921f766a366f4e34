/** Reads manifests from files, folders and standard input. Supports YAML, JSON, several documents and Lists. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '#api/objects';
import { isObject } from '#lib';
import { InputError, messageOf } from './errors.ts';
import { redactAlike } from './redaction.ts';
import { readStandardInput, readText } from './text.ts';

export { readText } from './text.ts';

/** Object and its place in the input. */
export interface Manifest {
  readonly object: KubeObject;
  /** Place in messages: `web.yaml, document 2, Deployment default/web`. */
  readonly where: string;
  /** Object that this hypothetical change replaces. */
  readonly replaced?: KubeObject;
}

/**
 * Returns true if the object was read from a cluster without changes. This means that an API server has accepted it.
 */
export const isFromCluster = ({ object, replaced }: Manifest): boolean =>
  object.metadata.resourceVersion !== undefined && replaced === undefined;

const MANIFEST_FILE = /\.(ya?ml|json)$/;
const SEPARATOR = /^---(?:[ \t].*)?$/m;

/** Reads the paths of `-f`. Reads all manifest files of a folder in name order, but not its subfolders. */
export function readManifests(paths: readonly string[]): readonly Manifest[] {
  return paths.flatMap((path) => {
    if (path === '-') return parseManifests(readStandardInput(), 'standard input');
    return filesOf(path).flatMap((file) => parseManifests(readText(file), file));
  });
}

function filesOf(path: string): readonly string[] {
  let stats: ReturnType<typeof statSync>;
  try {
    stats = statSync(path);
  } catch (error) {
    throw new InputError(path, 'no such file or folder', { cause: error });
  }
  if (!stats.isDirectory()) return [path];
  const files = readdirSync(path)
    .filter((name) => MANIFEST_FILE.test(name))
    .sort();
  if (files.length === 0) throw new InputError(path, 'the folder contains no .yaml, .yml or .json file');
  return files.map((name) => join(path, name));
}

/**
 * Parses the objects of a text and skips empty documents.
 *
 * @throws InputError with the document
 */
export function parseManifests(text: string, source: string): readonly Manifest[] {
  return parseDocuments(text, source).flatMap(({ value, where }) => {
    checkDepth(value, where);
    return objectsIn(value, where);
  });
}

/** Maximum depth. Objects of Kubernetes are much less deep. */
const MOST_LEVELS = 200;

/** @throws InputError if a value is nested too deeply, or contains itself because of YAML anchors */
function checkDepth(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  const known = new Set<unknown>();
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS)
      throw new InputError(where, `is nested more than ${MOST_LEVELS} levels deep, or contains itself`);
    // values that several aliases share are visited once per level
    known.clear();
    level = level.flatMap((one) => {
      if (typeof one !== 'object' || one === null || known.has(one)) return [];
      known.add(one);
      return Object.values(one);
    });
  }
}

interface Document {
  readonly value: unknown;
  readonly where: string;
}

function parseDocuments(text: string, source: string): readonly Document[] {
  const whole = text.trimStart().startsWith('{') ? parseJsonDocuments(text, source) : undefined;
  if (whole !== undefined) return whole;
  return readYaml(source, () => parseAllDocuments(text, { uniqueKeys: true })).map((document, index) => {
    const where = `${source}, document ${index + 1}`;
    const [error] = document.errors;
    if (error !== undefined) throw new InputError(where, `not valid YAML: ${firstLine(error)}`, { cause: error });
    return { value: readYaml(where, () => document.toJS() as unknown), where };
  });
}

/** @throws InputError with the place if the parser fails because of deep nesting or multiplying aliases */
function readYaml<T>(where: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    const isDeep = error instanceof RangeError;
    const what = isDeep ? 'is nested too deeply' : `not valid YAML: ${messageOf(error).split('\n', 1)[0]}`;
    throw new InputError(where, what, { cause: error });
  }
}

/**
 * Parses JSON documents between `---` lines. This is much faster than parsing YAML. Returns undefined if a document is
 * not JSON.
 *
 * @throws InputError if the source has the extension of JSON
 */
function parseJsonDocuments(text: string, source: string): readonly Document[] | undefined {
  try {
    return text
      .split(SEPARATOR)
      .map((part, index) => ({ part: part.trim(), where: `${source}, document ${index + 1}` }))
      .filter(({ part }) => part !== '')
      .map(({ part, where }) => ({ value: JSON.parse(part) as unknown, where }));
  } catch (error) {
    if (source.endsWith('.json')) throw new InputError(source, `not valid JSON: ${messageOf(error)}`, { cause: error });
    return undefined; // YAML in flow style also starts with a brace
  }
}

/** Returns the message without the excerpt of the input in its following lines. */
const firstLine = ({ message }: Error): string => message.split('\n', 1)[0]?.replace(/:$/, '') ?? '';

function objectsIn(value: unknown, where: string): readonly Manifest[] {
  if (value === null || value === undefined) return [];
  if (!isObject(value)) throw new InputError(where, 'expected a Kubernetes object with apiVersion and kind');
  const { apiVersion, kind, items } = value;
  if (typeof kind !== 'string' || kind === '') throw new InputError(where, 'kind is missing');
  if (kind.endsWith('List') && Array.isArray(items)) {
    return items.flatMap((item, index) => objectsIn(item, `${where}, items[${index}]`));
  }
  if (typeof apiVersion !== 'string' || apiVersion === '') throw new InputError(where, 'apiVersion is missing');
  const { metadata } = value;
  if (!isObject(metadata) || typeof metadata.name !== 'string' || metadata.name === '') {
    throw new InputError(`${where}, ${kind}`, 'metadata.name is missing');
  }
  const object = value as unknown as KubeObject;
  const { name, namespace } = object.metadata;
  return [{ object, where: `${where}, ${kind} ${namespace === undefined ? '' : `${namespace}/`}${name}` }];
}

/** Returns a key that is unique for each object of a cluster. */
export const identityOf = ({ kind, apiVersion, metadata }: KubeObject): string =>
  [apiVersion, kind, metadata.namespace ?? 'default', metadata.name].join(' ');

/**
 * Returns the manifests of a cluster after some objects were applied to it. Objects with the same name are replaced
 * in place. Like `kubectl apply`, a manifest keeps the status and foreign annotations of the object. If an object
 * from a cluster was edited, it replaces the whole object.
 */
export function applyManifests(manifests: readonly Manifest[], changes: readonly Manifest[]): readonly Manifest[] {
  const changed = new Map(changes.map((manifest) => [identityOf(manifest.object), manifest]));
  const kept = manifests.map((manifest) => {
    const id = identityOf(manifest.object);
    const change = changed.get(id);
    changed.delete(id);
    return change === undefined
      ? manifest
      : { ...change, object: over(manifest.object, change.object), replaced: manifest.object };
  });
  return [...kept, ...changed.values()];
}

function over(before: KubeObject, given: KubeObject): KubeObject {
  const change = redactAlike(before, given);
  if (change.metadata.resourceVersion !== undefined) return change;
  const { labels, annotations } = before.metadata;
  return {
    ...before,
    ...change,
    metadata: {
      ...before.metadata,
      ...change.metadata,
      ...(labels && { labels: { ...labels, ...change.metadata.labels } }),
      ...(annotations && { annotations: { ...annotations, ...change.metadata.annotations } }),
    },
  };
}
