/** Converts values of Karpenter's chart inside Flux's HelmRelease and Argo CD's Application. */
import { isMap, isSeq, type YAMLMap } from 'yaml';
import { convertValues } from './helm-values.ts';
import { entriesOf, keyOf, plain, resolveAlias } from './nodes.ts';
import { below, type Path, type TakeNote } from './notes.ts';
import type { FoundObject } from './objects.ts';

const CHART = /(?:^|\/)karpenter$/;

const VALUES_TEXT = 'contains values as text, which are unchanged; convert them with karpenter convert values -f FILE';
const VERSION = 'is a release of Karpenter; this chart has its own versions';

/** @returns whether anything was changed */
export function convertRelease(found: FoundObject, note: TakeNote): boolean {
  const { apiVersion, kind } = found;
  if (kind === 'HelmRelease' && apiVersion.startsWith('helm.toolkit.fluxcd.io/'))
    return convertHelmRelease(found, note);
  if (kind === 'Application' && apiVersion.startsWith('argoproj.io/')) return convertApplication(found, note);
  return false;
}

function convertHelmRelease(found: FoundObject, note: TakeNote): boolean {
  const chart: Path = ['spec', 'chart', 'spec'];
  const reference = memberAt(found, found.map, ['spec', 'chartRef', 'name']);
  if (!isKarpenter(memberAt(found, found.map, [...chart, 'chart'])) && !isKarpenter(reference)) return false;
  if (memberAt(found, found.map, ['spec', 'valuesFrom']) !== undefined)
    note(
      'changed',
      ['spec', 'valuesFrom'],
      'is not read; convert the values that it refers to with karpenter convert values',
    );
  const values = memberAt(found, found.map, ['spec', 'values']);
  const isChanged = isMap(values) && convertValues(values, below(note, ['spec', 'values']));
  if (isChanged) noteVersion(found, found.map, { note, path: [...chart, 'version'] });
  return isChanged;
}

function convertApplication(found: FoundObject, note: TakeNote): boolean {
  const single = memberAt(found, found.map, ['spec', 'source']);
  const several = memberAt(found, found.map, ['spec', 'sources']);
  const sources: readonly (readonly [unknown, Path])[] = [
    [single, ['spec', 'source']],
    ...(isSeq(several) ? several.items : []).map(
      (one, index) => [resolveAlias(one, found.source.document), ['spec', 'sources', index]] as const,
    ),
  ];
  const changed = sources.filter(([source, path]) => isMap(source) && convertSource(found, source, { note, path }));
  return changed.length > 0;
}

interface Place {
  readonly note: TakeNote;
  readonly path: Path;
}

function convertSource(found: FoundObject, source: YAMLMap, { note, path }: Place): boolean {
  if (!isKarpenter(memberAt(found, source, ['chart']))) return false;
  if (memberAt(found, source, ['helm', 'values']) !== undefined) note('lost', [...path, 'helm', 'values'], VALUES_TEXT);
  const values = memberAt(found, source, ['helm', 'valuesObject']);
  const isChanged = isMap(values) && convertValues(values, below(note, [...path, 'helm', 'valuesObject']));
  if (isChanged) noteVersion(found, source, { note, path: [...path, 'targetRevision'] });
  return isChanged;
}

function noteVersion(found: FoundObject, map: YAMLMap, { note, path }: Place): void {
  const [last = ''] = path.slice(-1);
  const at = map === found.map ? path : [last];
  const version = plain(memberAt(found, map, at));
  if (typeof version === 'string' && /^v?(?:0|1)\./.test(version)) note('assumed', path, VERSION);
}

const isKarpenter = (chart: unknown): boolean => CHART.test(String(plain(chart) ?? ''));

function memberAt({ source: { document } }: FoundObject, map: YAMLMap, path: Path): unknown {
  let node: unknown = map;
  for (const step of path) {
    if (!isMap(node)) return undefined;
    node = resolveAlias(entriesOf(node, document).find((pair) => keyOf(pair) === step)?.value, document);
  }
  return node ?? undefined;
}
