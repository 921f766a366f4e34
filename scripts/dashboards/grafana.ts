/** Formats dashboards as JSON for Grafana. A dashboard has rows of panels with queries. */

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

const COLUMNS = 24;
const HEIGHT = 8;
const TYPES = { line: 'timeseries', number: 'stat', table: 'table' } as const;
const SOURCE = { type: 'prometheus', uid: '$datasource' };

export function grafanaJson({ title, uid, rows }: Dashboard): string {
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
    templating: { list: [{ name: 'datasource', label: 'Data source', type: 'datasource', query: 'prometheus' }] },
    panels: panels.map((panel, index) => ({ id: index + 1, ...panel })),
  };
  return `${JSON.stringify(dashboard, null, 1)}\n`;
}

function panelJson({ title, kind, queries, unit = 'short', about }: Panel, gridPos: object): object {
  const targets = Object.entries(queries).map(([legend, expr], index) => ({
    refId: String.fromCharCode('A'.charCodeAt(0) + index),
    datasource: SOURCE,
    expr,
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
