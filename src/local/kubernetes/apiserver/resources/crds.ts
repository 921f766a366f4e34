/** CustomResourceDefinitions: their status, and the resources that they serve. */
import { timestamp } from '#lib';
import { type ApiObject, at, isRecord, type Json, list, record, records, text } from '../json.ts';
import { jsonPath } from '../json-path.ts';
import { AGE, age, NAME, type PrintedColumn } from './columns.ts';
import { crdSchema } from './crd-schema.ts';
import type { Resource, ScalePaths } from './registry.ts';
import { byPriority } from './versions.ts';

export const DEFINITIONS = 'customresourcedefinitions.apiextensions.k8s.io';
/** Finalizer that delays the removal of a definition until its last custom resource is gone. */
export const CLEANUP = 'customresourcecleanup.apiextensions.k8s.io';

/** Completes a definition before it is stored, in place. Does nothing to objects of other kinds. */
export function establish(resource: Resource, definition: ApiObject, nowMs: number): void {
  if (resource.storage !== DEFINITIONS) return;
  const spec = record(definition.spec);
  const stored = records(spec.versions).find(({ storage }) => storage === true);
  const status = record(definition.status);
  definition.status = {
    conditions: isRecord(definition.status) ? status.conditions : conditions(nowMs),
    acceptedNames: spec.names,
    storedVersions: [...new Set([...list(status.storedVersions), text(stored?.name)])],
  };
}

function conditions(nowMs: number): Json[] {
  const lastTransitionTime = timestamp(nowMs);
  return [
    { type: 'NamesAccepted', status: 'True', lastTransitionTime, reason: 'NoConflicts', message: 'no conflicts found' },
    {
      type: 'Established',
      status: 'True',
      lastTransitionTime,
      reason: 'InitialNamesAccepted',
      message: 'the initial names have been accepted',
    },
  ];
}

/** Returns the resources that a definition serves. */
export function crdResources(definition: ApiObject): { resource: Resource; isStored: boolean }[] {
  const spec = record(definition.spec);
  const versions = records(spec.versions);
  const stored = text(versions.find(({ storage }) => storage === true)?.name);
  return versions
    .filter(({ served }) => served === true)
    .map((version) => ({ resource: customResource(spec, version, stored), isStored: version.name === stored }));
}

function customResource(spec: Json, version: Json, storedVersion: string): Resource {
  const names = record(spec.names);
  const group = text(spec.group);
  const name = text(version.name);
  const plural = text(names.plural);
  const subresources = record(version.subresources);
  const scale = scalePaths(subresources.scale);
  const schema = crdSchema(
    record(at(version, 'schema', 'openAPIV3Schema')),
    scale && { specReplicasPath: scale.spec, statusReplicasPath: scale.status },
  );
  const relabel =
    (to: string) =>
    (object: ApiObject): ApiObject => ({ ...object, apiVersion: `${group}/${to}` });
  return {
    group,
    version: name,
    kind: text(names.kind),
    listKind: text(names.listKind) || `${text(names.kind)}List`,
    plural,
    singular: text(names.singular),
    shortNames: list(names.shortNames).map(text),
    categories: list(names.categories).map(text),
    namespaced: spec.scope === 'Namespaced',
    storage: `${plural}.${group}`,
    status: isRecord(subresources.status),
    generation: true,
    ...(scale && { scale }),
    subresources: {},
    schema,
    warnings: [
      ...(version.deprecated === true ? [deprecation(spec, version)] : []),
      ...(schema.unknownRules > 0
        ? [
            `the local API server does not evaluate ${schema.unknownRules} of the rules of ${plural}.${group}, which call unsupported functions`,
          ]
        : []),
    ],
    columns: printerColumns(records(version.additionalPrinterColumns)),
    selectableFields: records(version.selectableFields).map((one) => text(one.jsonPath).replace(/^\./, '')),
    ...(name !== storedVersion && { toStorage: relabel(storedVersion), fromStorage: relabel(name) }),
  };
}

/** Returns the warning of a deprecated version: its own, or one with the best version that replaces it. */
function deprecation(spec: Json, version: Json): string {
  if (typeof version.deprecationWarning === 'string') return version.deprecationWarning;
  const group = text(spec.group);
  const kind = text(at(spec, 'names', 'kind'));
  const name = text(version.name);
  const [better] = records(spec.versions)
    .filter(({ served, deprecated }) => served === true && deprecated !== true)
    .map((each) => text(each.name))
    .filter((each) => byPriority(each, name) < 0)
    .sort(byPriority);
  const notice = `${group}/${name} ${kind} is deprecated`;
  return better === undefined ? notice : `${notice}; use ${group}/${better} ${kind}`;
}

function scalePaths(scale: unknown): ScalePaths | undefined {
  if (!isRecord(scale)) return undefined;
  const selector = text(scale.labelSelectorPath);
  return {
    spec: text(scale.specReplicasPath),
    status: text(scale.statusReplicasPath),
    ...(selector !== '' && { selector }),
  };
}

function printerColumns(declared: readonly Json[]): readonly PrintedColumn[] {
  if (declared.length === 0) return [NAME, AGE];
  return [NAME, ...declared.map(printerColumn)];
}

function printerColumn(declared: Json): PrintedColumn {
  const path = jsonPath(text(declared.jsonPath));
  const type = text(declared.type);
  const priority = declared.priority;
  return {
    name: text(declared.name),
    type,
    format: text(declared.format),
    description:
      text(declared.description) ||
      `Custom resource definition column (in JSONPath format): ${text(declared.jsonPath)}`,
    priority: typeof priority === 'number' ? priority : 0,
    value: (object, nowMs) => cell(path(object), type, nowMs),
  };
}

function cell(values: readonly unknown[], type: string, nowMs: number): unknown {
  const [first] = values;
  if (first === undefined || first === null) return null;
  if (type === 'date') return age(first, nowMs);
  if (type !== 'string') return first;
  return values.map((value) => (typeof value === 'object' ? JSON.stringify(value) : String(value))).join(' ');
}
