/** Formats dashboards as JSON for Grafana. A dashboard has rows of panels with queries, and marks of events. */

export interface Panel {
  readonly title: string;
  readonly kind: 'line' | 'number' | 'table';
  /** PromQL queries by legend. */
  readonly queries: Readonly<Record<string, string>>;
  readonly unit?: Unit;
  /** Width in columns, of 24. The default is 8. */
  readonly width?: number;
  /** Description of the panel and of unusual values. */
  readonly about?: string;
}

/** Units by Grafana's names. */
type Unit = 'short' | 's' | 'currencyUSD' | 'percentunit' | 'reqps' | 'bytes' | 'bool';

export interface Dashboard {
  readonly title: string;
  readonly uid: string;
  readonly rows: Readonly<Record<string, readonly Panel[]>>;
}

/** A PromQL query that marks times in all panels while its result is positive. */
export interface Mark {
  readonly name: string;
  readonly query: string;
  readonly color: string;
  readonly text: string;
}

export interface Surroundings {
  readonly marks: readonly Mark[];
  /** Links by title. */
  readonly links: Readonly<Record<string, string>>;
}

const COLUMNS = 24;
const HEIGHT = 8;
const TYPES = { line: 'timeseries', number: 'stat', table: 'table' } as const;
const SOURCE = { type: 'prometheus', uid: '$datasource' };
/** Clusters by the label `cluster`, which Prometheus adds if several clusters share it. The value is empty without the label. */
const CLUSTER = {
  name: 'cluster',
  label: 'Cluster',
  type: 'query',
  datasource: SOURCE,
  query: { query: 'label_values(karpenter_build_info, cluster)', refId: 'cluster' },
  refresh: 2,
  sort: 1,
};
/** Name of a series and the start of its selector, or a label such as `karpenter_sh_nodepool`. */
const SERIES = /\b((?:karpenter|operator|controller_runtime|client_go|aws_sdk_go|leader_election|process)_\w+)(\{)?/g;

/** Restricts each series of a query to the selected cluster. */
const inCluster = (expr: string): string =>
  expr.replace(SERIES, (whole, name: string, bracket: string | undefined) => {
    if (name.includes('_sh_')) return whole;
    return `${name}{cluster="$cluster"${bracket === undefined ? '}' : ','}`;
  });

export function grafanaJson({ title, uid, rows }: Dashboard, { marks, links }: Surroundings): string {
  const panels: object[] = [];
  let y = 0;
  for (const [row, inRow] of Object.entries(rows)) {
    panels.push({ type: 'row', title: row, collapsed: false, gridPos: { x: 0, y, w: COLUMNS, h: 1 }, panels: [] });
    y += 1;
    let x = 0;
    for (const panel of inRow) {
      const width = panel.width ?? COLUMNS / 3;
      if (x + width > COLUMNS) {
        x = 0;
        y += HEIGHT;
      }
      panels.push(panelJson(panel, { x, y, w: width, h: HEIGHT }));
      x += width;
    }
    y += HEIGHT;
  }
  const dashboard = {
    uid,
    title,
    tags: ['karpenter'],
    schemaVersion: 39,
    editable: true,
    refresh: '1m',
    time: { from: 'now-6h', to: 'now' },
    templating: {
      list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }, CLUSTER],
    },
    links: [
      {
        type: 'dashboards',
        title: 'Karpenter',
        tags: ['karpenter'],
        asDropdown: true,
        keepTime: true,
        includeVars: true,
      },
      ...Object.entries(links).map(([name, url]) => ({ type: 'link', title: name, url, targetBlank: true })),
    ],
    annotations: { list: marks.map(markJson) },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
  return `${JSON.stringify(dashboard, null, 1)}\n`;
}

const markJson = ({ name, query, color, text }: Mark): object => ({
  name,
  datasource: SOURCE,
  enable: true,
  iconColor: color,
  expr: inCluster(query),
  step: '60s',
  titleFormat: name,
  textFormat: text,
});

function panelJson({ title, kind, queries, unit = 'short', about }: Panel, gridPos: object): object {
  const targets = Object.entries(queries).map(([legend, expr], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: SOURCE,
    expr: inCluster(expr),
    legendFormat: legend,
    ...(kind === 'line' ? {} : { instant: true }),
    ...(kind === 'table' ? { format: 'table' } : {}),
  }));
  return {
    type: TYPES[kind],
    title,
    ...(about === undefined ? {} : { description: about }),
    datasource: SOURCE,
    gridPos,
    fieldConfig: { defaults: { unit, min: 0 }, overrides: [] },
    targets,
  };
}
