/** Manifests from files, folders and standard input: YAML or JSON, several documents, Lists. */

import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { parseAllDocuments } from 'yaml';
import type { KubeObject } from '../../api/kubernetes.ts';
import { isObject } from '../../lib/json-object.ts';
import { InputError, messageOf } from './errors.ts';
import { redactedAlike } from './redaction.ts';
import { readStandardInput, readText } from './text.ts';

export { readText } from './text.ts';

/** An object and where it was read. */
export interface Manifest {
  readonly object: KubeObject;
  /** `web.yaml, document 2, Deployment default/web`. */
  readonly where: string;
  /** What it takes the place of: it is a change that is only thought of. */
  readonly replaced?: KubeObject;
}

/** Whether it was read from a cluster as it is, so that an API server has accepted it. */
export const isFromCluster = ({ object, replaced }: Manifest): boolean =>
  object.metadata.resourceVersion !== undefined && replaced === undefined;

const MANIFEST_FILE = /\.(ya?ml|json)$/;
const SEPARATOR = /^---(?:[ \t].*)?$/m;

/** Reads what `-f` names. Folders are read whole, in name order, but not what lies below them. */
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
  if (files.length === 0) throw new InputError(path, 'the folder holds no .yaml, .yml or .json file');
  return files.map((name) => join(path, name));
}

/** The objects of a text, empty documents left out. @throws InputError that names the document. */
export function parseManifests(text: string, source: string): readonly Manifest[] {
  return parseDocuments(text, source).flatMap(({ value, where }) => {
    checkDepth(value, where);
    return objectsIn(value, where);
  });
}

/** Far deeper than any object of Kubernetes. */
const MOST_LEVELS = 200;

/** @throws InputError when a value is too deep to be worked on, or holds itself, as anchors of YAML can have it */
function checkDepth(value: unknown, where: string): void {
  let level: readonly unknown[] = [value];
  const known = new Set<unknown>();
  for (let depth = 0; level.length > 0; depth += 1) {
    if (depth > MOST_LEVELS)
      throw new InputError(where, `is nested more than ${MOST_LEVELS} levels deep, or holds itself`);
    // what several anchors share is looked at once in each level
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

/** @throws InputError with the place, where the parser gives up on nesting, or on aliases that multiply */
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
 * JSON documents between `---` lines, far faster than as YAML; undefined if one of them is not JSON.
 * @throws InputError when the source by its name must be
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
    return undefined; // YAML in flow style starts with a brace as well
  }
}

/** Without the excerpt of the text below it. */
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

/** No two objects of a cluster share it. */
export const identityOf = ({ kind, apiVersion, metadata }: KubeObject): string =>
  [apiVersion, kind, metadata.namespace ?? 'default', metadata.name].join(' ');

/**
 * What a cluster would hold if some objects were applied to it: those of the same name are replaced in their places. A
 * manifest of one's own leaves status and annotations of others as they are, as `kubectl apply` does; an object that was
 * read from a cluster and edited is what it is to become.
 */
export function applied(manifests: readonly Manifest[], changes: readonly Manifest[]): readonly Manifest[] {
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
  const change = redactedAlike(before, given);
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
