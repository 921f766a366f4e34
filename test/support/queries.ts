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
  readonly annotations: { readonly list: readonly { readonly name: string; readonly expr: string }[] };
  readonly templating: { readonly list: readonly { readonly name: string }[] };
  readonly links: readonly { readonly title: string; readonly url?: string }[];
}

export interface Alert {
  readonly alert: string;
  readonly expr: string;
  readonly for?: string;
  readonly labels: { readonly severity: string };
  readonly annotations: { readonly summary: string; readonly runbook_url: string };
}

interface RecordingRule {
  readonly record: string;
  readonly expr: string;
}

export const RULES_FILE = join(CHART, 'rules.yaml');

export const dashboards = (): readonly Dashboard[] =>
  readdirSync(join(CHART, 'dashboards')).map((file) => ({
    file,
    ...JSON.parse(readFileSync(join(CHART, 'dashboards', file), 'utf8')),
  }));

/** Returns the alerts and recording rules in their order. */
export function rules(): readonly (Alert | RecordingRule)[] {
  const { groups } = parse(readFileSync(RULES_FILE, 'utf8')) as {
    readonly groups: { readonly rules: readonly (Alert | RecordingRule)[] }[];
  };
  return groups.flatMap((group) => group.rules);
}

export const alerts = (): readonly Alert[] => rules().filter((rule): rule is Alert => 'alert' in rule);

export const ruleName = (rule: Alert | RecordingRule): string => ('alert' in rule ? rule.alert : rule.record);

export const queries = (): readonly Query[] => [
  ...dashboards().flatMap(({ title, panels }) =>
    panels.flatMap((panel) => (panel.targets ?? []).map(({ expr }) => ({ of: `${title}: ${panel.title}`, expr }))),
  ),
  ...dashboards().flatMap(({ title, annotations }) =>
    annotations.list.map(({ name, expr }) => ({ of: `${title}: ${name}`, expr })),
  ),
  ...rules().map((rule) => ({ of: ruleName(rule), expr: rule.expr })),
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
