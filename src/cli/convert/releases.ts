/**
 * Converts values of Karpenter's chart inside Flux's HelmRelease and Argo CD's Application and ApplicationSet. Reports values
 * that are text, parameters or files, and values inside the objects of other tools.
 */
import { isMap, isSeq, type YAMLMap } from 'yaml';
import { own } from '#lib';
import { convertValues } from './helm-values.ts';
import { entriesOf, keyOf, plain, resolveAlias } from './nodes.ts';
import { below, type Path, type TakeNote } from './notes.ts';
import type { FoundObject } from './objects.ts';

const CHART = /(?:^|\/)karpenter$/;

const ELSEWHERE = 'names files with values, which are not read; convert them with karpenter convert values -f FILE';
const PARAMETERS =
  'contains values as parameters, which are unchanged; move them to valuesObject and convert again, or check each with docs/reference/values.md';
const VALUES_TEXT = 'contains values as text, which are unchanged; convert them with karpenter convert values -f FILE';
const VERSION = 'is a release of Karpenter; this chart has its own versions';

/** @returns whether anything was changed */
export function convertRelease(found: FoundObject, note: TakeNote): boolean {
  const { apiVersion, kind } = found;
  if (kind === 'HelmRelease' && apiVersion.startsWith('helm.toolkit.fluxcd.io/'))
    return convertHelmRelease(found, note);
  if (apiVersion.startsWith('argoproj.io/')) {
    if (kind === 'Application') return convertApplication(found, note, ['spec']);
    if (kind === 'ApplicationSet') return convertApplication(found, note, ['spec', 'template', 'spec']);
  }
  noteOtherTool(found, note);
  return false;
}

/** Fields with the chart and with values in objects of other tools that install charts. */
interface OtherTool {
  readonly group: string;
  readonly chart: Path;
  readonly values: readonly Path[];
}

const OTHER_TOOLS: Readonly<Record<string, OtherTool>> = {
  HelmChartProxy: {
    group: 'addons.cluster.x-k8s.io/',
    chart: ['spec', 'chartName'],
    values: [['spec', 'valuesTemplate']],
  },
  HelmChart: {
    group: 'helm.cattle.io/',
    chart: ['spec', 'chart'],
    values: [
      ['spec', 'valuesContent'],
      ['spec', 'set'],
    ],
  },
  Release: {
    group: 'helm.crossplane.io/',
    chart: ['spec', 'forProvider', 'chart', 'name'],
    values: [
      ['spec', 'forProvider', 'values'],
      ['spec', 'forProvider', 'set'],
    ],
  },
};

function noteOtherTool(found: FoundObject, note: TakeNote): void {
  const tool = own(OTHER_TOOLS, found.kind);
  if (tool === undefined || !found.apiVersion.startsWith(tool.group)) return;
  if (!isKarpenter(memberAt(found, found.map, tool.chart))) return;
  for (const path of tool.values)
    if (memberAt(found, found.map, path) !== undefined)
      note('lost', path, 'contains values, which are unchanged; convert them with karpenter convert values -f FILE');
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

function convertApplication(found: FoundObject, note: TakeNote, spec: Path): boolean {
  const single = memberAt(found, found.map, [...spec, 'source']);
  const several = memberAt(found, found.map, [...spec, 'sources']);
  const sources: readonly (readonly [unknown, Path])[] = [
    [single, [...spec, 'source']],
    ...(isSeq(several) ? several.items : []).map(
      (one, index) => [resolveAlias(one, found.source.document), [...spec, 'sources', index]] as const,
    ),
  ];
  const changed = sources.filter(([source, path]) => isMap(source) && convertSource(found, source, { note, path }));
  return changed.length > 0;
}

/** Fields of an Application with values that are not converted. */
const UNREAD: Readonly<Record<string, string>> = {
  values: VALUES_TEXT,
  parameters: PARAMETERS,
  fileParameters: ELSEWHERE,
  valueFiles: ELSEWHERE,
};

interface Place {
  readonly note: TakeNote;
  readonly path: Path;
}

function convertSource(found: FoundObject, source: YAMLMap, { note, path }: Place): boolean {
  if (!isKarpenter(memberAt(found, source, ['chart']))) return false;
  for (const [field, text] of Object.entries(UNREAD))
    if (memberAt(found, source, ['helm', field]) !== undefined) note('lost', [...path, 'helm', field], text);
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
