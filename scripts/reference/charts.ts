/** Chart.yaml, README and the reference page of values for the charts. */
import { stringify } from 'yaml';
import type { CustomResourceDefinition } from '#api/testing';
import { code, heading, markdownTable } from './markdown.ts';

/** Facts of `package.json` that the charts repeat. */
export interface Product {
  readonly version: string;
  readonly license: string;
  /** URL of the repository, without a slash at the end. */
  readonly repository: string;
}

export interface ValuesSchema {
  readonly properties?: Readonly<Record<string, ValuesSchema>>;
  readonly enum?: readonly (string | boolean | null)[];
  readonly $ref?: string;
  readonly type?: string | readonly string[];
  readonly anyOf?: readonly ValuesSchema[];
}

/** A value of a chart: its path, type, default and description. */
interface ChartValue {
  readonly path: string;
  readonly type: string;
  readonly fallback: unknown;
  readonly description: string;
}

/** Release of Karpenter whose manifests, values and behaviour are compatible. */
const KARPENTER = '1.14.1';
const KEYWORDS = ['cluster', 'node', 'scheduler', 'autoscaling', 'lifecycle'];
const DESCRIPTIONS = {
  karpenter: 'Launches EC2 capacity for pending pods and removes nodes that are no longer needed.',
  'karpenter-crd': 'The custom resources of Karpenter as templates, so that helm upgrades them with the release.',
} as const;
export type ChartName = keyof typeof DESCRIPTIONS;

/** Returns the text of Chart.yaml with the annotations that Artifact Hub reads. */
export function chartFile(name: ChartName, product: Product, crds: readonly CustomResourceDefinition[]): string {
  const { version, license, repository } = product;
  const links = [
    { name: 'Documentation', url: `${repository}/tree/main/docs` },
    { name: 'Runbook', url: `${repository}/blob/main/docs/runbook.md` },
    { name: 'Support', url: `${repository}/issues` },
  ];
  const chart = {
    apiVersion: 'v2',
    name,
    description: DESCRIPTIONS[name],
    type: 'application',
    version,
    appVersion: version,
    icon: `${repository.replace('github.com', 'raw.githubusercontent.com')}/main/docs/images/icon.svg`,
    home: repository,
    sources: [`${repository}/tree/main/charts/${name}`],
    maintainers: [{ name: 'The maintainers of karpenter-ts', url: repository }],
    keywords: KEYWORDS,
    annotations: {
      'compatible-with-karpenter': KARPENTER,
      'artifacthub.io/license': license,
      'artifacthub.io/operator': 'true',
      'artifacthub.io/operatorCapabilities': 'Auto Pilot',
      'artifacthub.io/links': stringify(links),
      'artifacthub.io/crds': stringify(crds.map(crdEntry), { lineWidth: 0 }),
    },
  };
  return `# Written by \`npm run generate\`; change scripts/reference/charts.ts instead.\n${stringify(chart, { lineWidth: 0 })}`;
}

function crdEntry({ spec, metadata }: CustomResourceDefinition): object {
  const [{ name: version, schema }] = spec.versions as [(typeof spec.versions)[number]];
  const { description = spec.names.kind } = schema.openAPIV3Schema as { readonly description?: string };
  const [sentence = description] = description.split(/(?<=\.)\s/);
  return { kind: spec.names.kind, version, name: metadata.name, displayName: spec.names.kind, description: sentence };
}

const INTRODUCTIONS: Readonly<Record<ChartName, readonly string[]>> = {
  karpenter: [
    'The operator. It needs nodes that it does not launch, the roles and the queue of',
    '[the installation guide](HOME/blob/main/docs/install.md), and the chart `karpenter-crd`.',
    '',
    '```sh',
    'helm upgrade --install karpenter-crd charts/karpenter-crd --namespace kube-system',
    'helm upgrade --install karpenter charts/karpenter --namespace kube-system --skip-crds \\',
    '  --set settings.clusterName=my-cluster --set settings.interruptionQueue=my-cluster \\',
    '  --set controller.image.repository=registry.example.com/karpenter-ts --wait',
    'helm test karpenter --namespace kube-system',
    '```',
    '',
    'The chart accepts the values of Karpenter VERSION. Unknown values have no effect, and the notes of the release list them.',
    '`karpenter convert values -f values.yaml` converts the values of a release of Karpenter.',
  ],
  'karpenter-crd': [
    'The CustomResourceDefinitions as templates. Install this chart before `karpenter`, and upgrade both together:',
    '',
    '```sh',
    'helm upgrade --install karpenter-crd charts/karpenter-crd --namespace kube-system',
    '```',
    '',
    'Deleting this release deletes all NodePools, NodeClaims and EC2NodeClasses. Read',
    '[how to uninstall](HOME/blob/main/docs/uninstall.md) first.',
  ],
};

/** Returns the README of a chart. */
export function chartReadme(name: ChartName, { repository }: Product, values: readonly ChartValue[]): string {
  const introduction = INTRODUCTIONS[name].map((line) =>
    line.replace('HOME', repository).replace('VERSION', KARPENTER),
  );
  const lines = [...heading(name, `charts/${name}/values.yaml or scripts/reference/charts.ts`), ...introduction];
  return `${[...lines, '', '## Values', '', ...valuesTable(values)].join('\n')}\n`;
}

/** Returns the reference page with the values of all charts. */
export function valuesPage(charts: readonly (readonly [name: ChartName, values: readonly ChartValue[]])[]): string {
  const lines = [
    ...heading('Values of the charts', 'charts/karpenter/values.yaml and charts/karpenter/values.schema.json'),
    'Values of the Helm charts. The settings of the operator are described in [settings.md](settings.md).',
    ...charts.flatMap(([name, values]) => ['', `## ${name}`, '', ...valuesTable(values)]),
  ];
  return `${lines.join('\n')}\n`;
}

const valuesTable = (values: readonly ChartValue[]): readonly string[] =>
  markdownTable(
    ['Value', 'Type', 'Default', 'Meaning'],
    values.map(({ path, type, fallback, description }) => [code(path), type, defaultText(fallback), description]),
  );

/** Longest default in a table. */
const MOST_DEFAULT = 50;

function defaultText(fallback: unknown): string {
  if (fallback === undefined || fallback === null || fallback === '') return '';
  const text = typeof fallback === 'string' ? fallback : JSON.stringify(fallback);
  return text.length > MOST_DEFAULT ? 'in values.yaml' : code(text);
}

/**
 * Returns the values of a chart in the order of values.yaml. Types are those of the schema, and descriptions are the comments
 * above the values.
 */
export function chartValues(text: string, defaults: unknown, schema: ValuesSchema): readonly ChartValue[] {
  const descriptions = commentsByPath(text);
  const visit = (tree: object, part: ValuesSchema | undefined, parents: readonly string[]): ChartValue[] =>
    Object.entries(tree).flatMap(([key, fallback]: [string, unknown]) => {
      const [path, own] = [[...parents, key], part?.properties?.[key]];
      if (own?.properties !== undefined && fallback !== null) return visit(fallback as object, own, path);
      const name = path.join('.');
      return [{ path: name, type: typeText(own ?? {}), fallback, description: descriptions.get(name) ?? '' }];
    });
  return visit(defaults as object, schema, []);
}

/** Returns the comment above each value. */
function commentsByPath(text: string): ReadonlyMap<string, string> {
  const found = new Map<string, string>();
  const path: string[] = [];
  let comment: string[] = [];
  for (const line of text.split('\n')) {
    const [, words] = /^ *# (.*)$/.exec(line) ?? [];
    if (words !== undefined) {
      comment.push(words);
      continue;
    }
    const [, indent, key] = /^( *)([\w./-]+):/.exec(line) ?? [];
    if (indent !== undefined && key !== undefined) {
      path.splice(indent.length / 2, path.length, key);
      found.set(path.join('.'), comment.join(' '));
    }
    comment = [];
  }
  return found;
}

const TYPES: Readonly<Record<string, string>> = {
  scalar: 'string',
  count: 'integer',
  flag: 'boolean',
  map: 'object',
  list: 'list',
};

function typeText({ $ref, enum: allowed, anyOf, type = 'object' }: ValuesSchema): string {
  if ($ref !== undefined) return TYPES[$ref.replace('#/definitions/', '')] ?? $ref;
  if (allowed !== undefined) {
    const texts = allowed.filter((value) => value !== '' && value !== null).map((value) => code(String(value)));
    return [...new Set(texts)].join(', ');
  }
  const types = anyOf?.map((option) => typeText(option)) ?? [type].flat();
  return [...new Set(types.flatMap((each) => each.split(' or ')))].filter((each) => each !== 'null').join(' or ');
}
