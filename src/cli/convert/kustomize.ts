/** Reads kustomizations: finds patch files, and adds notes about references to objects that are renamed in v1. */

import { basename, dirname, join } from 'node:path';
import { parse } from 'yaml';
import { isObject, type JsonObject, tryRun } from '#lib';
import type { SourceFile } from './documents.ts';
import type { Notes, Path, TakeNote } from './notes.ts';

const FILE = /^(?:kustomization\.ya?ml|Kustomization)$/;
const OF_KUSTOMIZE = 'kustomize.config.k8s.io/';
const OF_FLUX = 'kustomize.toolkit.fluxcd.io/';

interface Kustomization {
  readonly file: SourceFile;
  /** Place in error messages: `kustomization.yaml, document 1`. */
  readonly where: string;
  /** Fields of this kustomization as plain data, not validated. */
  readonly fields: JsonObject;
  /** Path of the field that contains patches. Flux has them in its spec. */
  readonly path: Path;
}

const listIn = (fields: JsonObject, name: string): readonly unknown[] => {
  const list = fields[name];
  return Array.isArray(list) ? list : [];
};

const textIn = (fields: unknown, name: string): string => {
  const text = isObject(fields) ? fields[name] : undefined;
  return typeof text === 'string' ? text : '';
};

function kustomizationsIn(files: readonly SourceFile[]): readonly Kustomization[] {
  return files.flatMap((file) => {
    const isNamedSo = FILE.test(basename(file.name));
    if (!isNamedSo && ![OF_KUSTOMIZE, OF_FLUX].some((group) => file.text.includes(group))) return [];
    return file.documents.flatMap(({ document, where }) => {
      const value = document.toJS({ maxAliasCount: -1 }) as unknown;
      const found = placeOf(value, isNamedSo);
      return found === undefined ? [] : [{ file, where, ...found }];
    });
  });
}

/** @param isNamedSo whether the file has a kustomization's name, so that the kind is optional */
function placeOf(value: unknown, isNamedSo: boolean): Pick<Kustomization, 'fields' | 'path'> | undefined {
  if (!isObject(value)) return undefined;
  const apiVersion = textIn(value, 'apiVersion');
  if (apiVersion.startsWith(OF_FLUX)) return isObject(value.spec) ? { fields: value.spec, path: ['spec'] } : undefined;
  return isNamedSo || apiVersion.startsWith(OF_KUSTOMIZE) ? { fields: value, path: [] } : undefined;
}

/** Returns the names of files that kustomizations use as patches. */
export function patchesIn(files: readonly SourceFile[]): ReadonlySet<string> {
  const named = kustomizationsIn(files).flatMap(({ file, fields }) => {
    const paths = [
      ...listIn(fields, 'patchesStrategicMerge').filter((path) => typeof path === 'string'),
      ...listIn(fields, 'patches').map((patch) => textIn(patch, 'path')),
    ];
    return paths.filter((path) => path !== '' && !path.includes('\n')).map((path) => join(dirname(file.name), path));
  });
  return new Set(named);
}

/** Kinds that are renamed in v1. */
const NEW_KINDS: ReadonlyMap<string, string> = new Map([
  ['Provisioner', 'NodePool'],
  ['AWSNodeTemplate', 'EC2NodeClass'],
]);

const IN_CLASS = '/spec/kubelet of the EC2NodeClass';
/** Paths in JSON patches, most specific first. */
const NEW_PATHS: Readonly<Record<string, readonly (readonly [old: string, now: string])[]>> = {
  Provisioner: [
    ['/spec/labels', '/spec/template/metadata/labels'],
    ['/spec/annotations', '/spec/template/metadata/annotations'],
    ['/spec/requirements', '/spec/template/spec/requirements'],
    ['/spec/taints', '/spec/template/spec/taints'],
    ['/spec/startupTaints', '/spec/template/spec/startupTaints'],
    ['/spec/kubeletConfiguration', IN_CLASS],
    ['/spec/providerRef', '/spec/template/spec/nodeClassRef'],
    ['/spec/provider', '/spec of the EC2NodeClass'],
    ['/spec/limits/resources', '/spec/limits'],
    ['/spec/ttlSecondsAfterEmpty', '/spec/disruption/consolidateAfter, a duration, for example 30s'],
    ['/spec/ttlSecondsUntilExpired', '/spec/template/spec/expireAfter, a duration, for example 720h'],
    ['/spec/consolidation', '/spec/disruption'],
  ],
  AWSNodeTemplate: [
    ['/spec/subnetSelector', '/spec/subnetSelectorTerms, a list of terms'],
    ['/spec/securityGroupSelector', '/spec/securityGroupSelectorTerms, a list of terms'],
    ['/spec/amiSelector', '/spec/amiSelectorTerms, a list of terms'],
    ['/spec/launchTemplate', 'no field, because Karpenter creates launch templates in v1'],
  ],
  NodePool: [
    ['/spec/disruption/expireAfter', '/spec/template/spec/expireAfter'],
    ['/spec/template/spec/kubelet', IN_CLASS],
    ['/spec/template/spec/nodeClassRef/apiVersion', '/spec/template/spec/nodeClassRef/group, without the version'],
  ],
};

/** Adds notes about the required changes of patches. Kustomizations themselves remain unchanged. */
export function noteKustomizations(files: readonly SourceFile[], notes: Notes): void {
  const byName = new Map(files.map((file) => [file.name, file]));
  for (const { file, where, fields, path } of kustomizationsIn(files)) {
    const note = notes.on(`${where}, Kustomization`);
    for (const name of ['patches', 'patchesJson6902'])
      for (const [index, patch] of listIn(fields, name).entries()) {
        const patched = byName.get(join(dirname(file.name), textIn(patch, 'path')));
        notePatch(patch, { note, path: [...path, name, index], patched });
      }
    for (const [index, patch] of listIn(fields, 'patchesStrategicMerge').entries())
      if (typeof patch === 'string' && patch.includes('\n'))
        noteInline(patch, note, [...path, 'patchesStrategicMerge', index]);
  }
}

interface PatchPlace {
  readonly note: TakeNote;
  readonly path: Path;
  /** File that contains the patch. */
  readonly patched: SourceFile | undefined;
}

function notePatch(patch: unknown, { note, path, patched }: PatchPlace): void {
  const target = isObject(patch) ? patch.target : undefined;
  const kind = textIn(target, 'kind');
  const renamed = NEW_KINDS.get(kind);
  if (renamed !== undefined) note('changed', [...path, 'target', 'kind'], `${kind} is now ${renamed} of v1`);
  const inline = textIn(patch, 'patch');
  const operations = inline === '' ? operationsOf(patched) : operationsIn(inline);
  if (operations === undefined) {
    if (inline !== '') noteInline(inline, note, [...path, 'patch']);
    return;
  }
  for (const [index, operation] of operations.entries()) {
    const old = textIn(operation, 'path');
    const [, now] = (NEW_PATHS[kind] ?? []).find(([from]) => old === from || old.startsWith(`${from}/`)) ?? [];
    if (now !== undefined)
      note('changed', [...path, ...(inline === '' ? [] : ['patch', index])], `${old} is now ${now}`);
  }
}

/** Returns the operations of a JSON patch, or undefined for another kind of patch. */
function operationsOf(file: SourceFile | undefined): readonly unknown[] | undefined {
  const [document] = file?.documents ?? [];
  const value = document?.document.toJS({ maxAliasCount: -1 }) as unknown;
  return Array.isArray(value) ? value : undefined;
}

function operationsIn(text: string): readonly unknown[] | undefined {
  const value = parsePatch(text);
  return Array.isArray(value) ? value : undefined;
}

/** Kustomize reports texts that cannot be parsed. */
const parsePatch = (text: string): unknown => tryRun(() => parse(text) as unknown);

const OLD_VERSION = /^karpenter\.(?:sh|k8s\.aws)\/v1(?:alpha|beta)/;

function noteInline(text: string, note: TakeNote, path: Path): void {
  const value = parsePatch(text);
  const [apiVersion, kind] = [textIn(value, 'apiVersion'), textIn(value, 'kind')];
  if (OLD_VERSION.test(apiVersion))
    note('lost', path, `is an inline patch of ${apiVersion} ${kind}; move it to its own file and convert the file`);
}
