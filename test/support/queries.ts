/** Queries of the chart's dashboards and alerts. */
import { readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';

const CHART = join(import.meta.dirname, '../../charts/karpenter');

export interface Query {
  /** Panel of the dashboard, or the alert. */
  readonly of: string;
  readonly expr: string;
}

interface Panel {
  readonly id: number;
  readonly type: string;
  readonly title: string;
  readonly gridPos: { readonly x: number; readonly y: number; readonly w: number; readonly h: number };
  readonly targets?: readonly { readonly expr: string; readonly legendFormat: string }[];
}

export interface Dashboard {
  readonly file: string;
  readonly uid: string;
  readonly title: string;
  readonly panels: readonly Panel[];
}

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string };
}

export const RULES_FILE = join(CHART, 'rules.yaml');

export const dashboards = (): readonly Dashboard[] =>
  readdirSync(join(CHART, 'dashboards')).map((file) => ({
    file,
    ...JSON.parse(readFileSync(join(CHART, 'dashboards', file), 'utf8')),
  }));

export function alerts(): readonly Alert[] {
  const { groups } = parse(readFileSync(RULES_FILE, 'utf8')) as {
    readonly groups: { readonly rules: readonly Alert[] }[];
  };
  return groups.flatMap(({ rules }) => rules);
}

export const queries = (): readonly Query[] => [
  ...dashboards().flatMap(({ title, panels }) =>
    panels.flatMap((panel) => (panel.targets ?? []).map(({ expr }) => ({ of: `${title}: ${panel.title}`, expr }))),
  ),
  ...alerts().map(({ alert, expr }) => ({ of: alert, expr })),
];

const METRIC =
  /\b(?:karpenter|operator|controller_runtime|workqueue|client_go|aws_sdk_go|leader_election|process)_\w+/g;

/** Returns the names of series that a query reads. */
export const seriesIn = (expr: string): readonly string[] =>
  [...new Set(expr.match(METRIC) ?? [])].filter((name) => !/_sh_/.test(name));

/** Returns the names of labels that a query groups or selects by. */
export const labelsIn = (expr: string): readonly string[] => [
  ...[...expr.matchAll(/\bby \(([^)]*)\)/g)].flatMap(([, list = '']) => list.split(',').map((label) => label.trim())),
  ...[...expr.matchAll(/\{([^}]*)\}/g)].flatMap(([, list = '']) =>
    [...list.matchAll(/(\w+)\s*(?:=|!=|=~|!~)/g)].map(([, label = '']) => label),
  ),
];
