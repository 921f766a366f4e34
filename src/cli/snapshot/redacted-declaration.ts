/**
 * ConfigMaps with declared devices in a redacted snapshot. Keeps the fields of documents that the operator reads. Omits all other
 * text, and text that cannot be parsed.
 */
import { type Document, parseAllDocuments, stringify } from 'yaml';
import { KEPT_DECLARATION_FIELDS } from '#api/devices';
import type { ConfigMap, KubeObject } from '#api/objects';
import { isObject, type JsonObject, own, tryRun } from '#lib';
import { DEVICE_TEMPLATES_LABEL } from '#state';
import { kept } from './keep.ts';

/** Document in place of text that cannot be parsed. It is not valid either. */
const UNREADABLE = {};

/** Returns the data of a ConfigMap that declares devices, and undefined for other ConfigMaps. */
export function declarationParts(object: KubeObject): JsonObject {
  if (own(object.metadata.labels, DEVICE_TEMPLATES_LABEL) !== 'true') return {};
  const { data } = object as ConfigMap;
  if (!isObject(data)) return {};
  return { data: Object.fromEntries(Object.entries(data).map(([key, text]) => [key, redactedText(text)])) };
}

function redactedText(text: unknown): string {
  if (typeof text !== 'string') return '';
  const documents = parseAllDocuments(text, { uniqueKeys: true, logLevel: 'silent' });
  return [...documents].map((document) => stringify(redactedDocument(document))).join('---\n');
}

function redactedDocument(document: Pick<Document, 'errors' | 'toJS'>): unknown {
  if (document.errors.length > 0) return UNREADABLE;
  return tryRun(() => kept(document.toJS({ maxAliasCount: 0 }), KEPT_DECLARATION_FIELDS)) ?? UNREADABLE;
}
