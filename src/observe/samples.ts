/** Samples in Prometheus' text format, for gauges whose series are read at each scrape. */

export type Labels = Readonly<Record<string, string>>;

export interface Sample {
  /** May be shared by the samples of an object. */
  readonly labels: Labels;
  /** What tells the sample from others with the same labels. */
  readonly own?: Labels;
  readonly value: number;
}

const ESCAPES: Readonly<Record<string, string>> = { '\\': '\\\\', '\n': '\\n', '"': '\\"' };
const escaped = (value: string): string => value.replace(/[\\\n"]/g, (character) => ESCAPES[character] ?? character);

const labelsText = (labels: Labels): string =>
  Object.entries(labels)
    .map(([name, value]) => `${name}="${escaped(value)}"`)
    .join(',');

/** `{node_name="a",resource_type="cpu"}` */
export function seriesText({ labels, own }: Sample): string {
  const both = own === undefined ? labelsText(labels) : `${labelsText(labels)},${labelsText(own)}`;
  return both === '' ? '' : `{${both}}`;
}

/** As prom-client writes numbers. */
export function valueText(value: number): string {
  if (Number.isNaN(value)) return 'Nan';
  if (Number.isFinite(value)) return String(value);
  return value < 0 ? '-Inf' : '+Inf';
}
