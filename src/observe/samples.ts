/** Samples in Prometheus' text format, for gauges whose series are read at each scrape. */

export type Labels = Readonly<Record<string, string | number>>;

export interface Sample {
  readonly labels: Labels;
  /**
   * Labels that distinguish this sample from other samples of an object. The samples share `labels`, whose text is
   * cached.
   */
  readonly own?: Labels;
  readonly value: number;
  /** True for a rarely used sample. The default view omits it. */
  readonly isDetail?: boolean;
}

/** A sample with its name. The name has a suffix in histograms and summaries. */
export interface Series extends Sample {
  readonly name: string;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '"': '\\"' };
const escapeText = (value: string | number): string =>
  String(value).replace(/[\\\n"]/g, (character) => ESCAPES[character] ?? character);

/** Escapes a help text. Quotes are valid in a help text. */
export const helpText = (help: string): string =>
  help.replace(/[\\\n]/g, (character) => ESCAPES[character] ?? character);

const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escapeText(value)}"`)
    .join(',');

/** `{node_name="a",resource_type="cpu"}` */
export function seriesText({ labels, own }: Sample): string {
  if (own === undefined) return inBraces(labelsText(labels));
  const both = [sharedText(labels), labelsText(own)];
  return inBraces(both.filter((text) => text !== '').join(','));
}

const inBraces = (text: string): string => (text === '' ? '' : `{${text}}`);

const sharedTexts = new WeakMap<Labels, string>();

function sharedText(labels: Labels): string {
  const known = sharedTexts.get(labels);
  if (known !== undefined) return known;
  const text = labelsText(labels);
  sharedTexts.set(labels, text);
  return text;
}

/** Formats a number like prom-client. */
export function valueText(value: number): string {
  if (Number.isNaN(value)) return 'Nan';
  if (Number.isFinite(value)) return String(value);
  return value < 0 ? '-Inf' : '+Inf';
}

export const lineText = (series: Series): string => `${series.name}${seriesText(series)} ${valueText(series.value)}\n`;
