/**
 * Writes what follows from declarations: of the custom resources, CRDs, their copies in the charts and reference pages;
 * the reference pages of metrics, events and settings; of package.json, Chart.yaml and the version of the programs; of the
 * values and their schema, the README of the charts and a reference page;
 * the chart's dashboards; of a cluster in virtual time, the page of questions; of the values' schema, the names of values that the chart knows; of the CloudFormation template,
 * the controller's policies; of the verbs of the command line, reference pages and the schemas of what they print.
 * With `--check` it writes nothing, names the files that are not current and exits with 1.
 */
import { mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { parse, stringify } from 'yaml';
import { customResourceDefinitions, DECLARATIONS } from '#api/schema';
import { type CustomResourceDefinition, priceBookSchemaText } from '#api/testing';
import { describeCommand, QUESTIONS, VERBS, wholeProgram } from '#cli/testing';
import { managedPolicies, parseTemplate } from './scripts/cloudformation.ts';
import { DASHBOARDS, surroundings } from './scripts/dashboards/dashboards.ts';
import { grafanaJson } from './scripts/dashboards/grafana.ts';
import {
  type ChartName,
  chartFile,
  chartReadme,
  chartValues,
  type Product,
  type ValuesSchema,
  valuesPage,
} from './scripts/reference/charts.ts';
import { referencePage } from './scripts/reference/crds.ts';
import { eventsPage, featuresPage, metricsPage, settingsPage } from './scripts/reference/operator.ts';
import { OUTPUTS, schemaText } from './scripts/reference/outputs/catalogue.ts';
import { indexPage, verbPage } from './scripts/reference/verbs.ts';

const ROOT = fileURLToPath(new URL('.', import.meta.url));

/** Folders that hold generated files only. */
const FOLDERS = {
  crds: 'crds',
  crdChart: 'charts/karpenter-crd/templates',
  chart: 'charts/karpenter/crds',
  reference: 'docs/reference',
  cli: 'docs/reference/cli',
  output: 'docs/reference/output',
  dashboards: 'charts/karpenter/dashboards',
} as const;

const COMMAND_LINE = describeCommand(await wholeProgram());

const crdYaml = (crd: CustomResourceDefinition): string =>
  stringify(crd, { lineWidth: 0, aliasDuplicateObjects: false });

/** The CRD as a template, so that helm upgrades it; the one value adds annotations. */
function crdTemplate(crd: CustomResourceDefinition, chartValue: string | undefined): string {
  const yaml = crdYaml(crd);
  if (yaml.includes('{{')) throw new Error(`Cannot write ${crd.metadata.name} as a template: it contains "{{"`);
  const name = `  name: ${crd.metadata.name}\n`;
  const annotated = yaml.replace(
    name,
    `${name}  {{- with .Values.additionalAnnotations }}\n  annotations:\n    {{- toYaml . | nindent 4 }}\n  {{- end }}\n`,
  );
  return chartValue === undefined ? annotated : `{{- if .Values.${chartValue} }}\n${annotated}{{- end }}\n`;
}

const sourceText = (path: string): string => readFileSync(join(ROOT, path), 'utf8');

const product = (): Product => JSON.parse(sourceText('package.json')) as Product;

/** The product has one version, that of package.json. */
function versionModule(): string {
  const lines = [
    '/** Version of the product, of package.json. Written by `npm run generate`. */',
    `export const VERSION = '${product().version}';`,
  ];
  return `${lines.join('\n')}\n`;
}

/** Chart.yaml and README of each chart, and the reference page of their values. */
function chartFiles(): readonly (readonly [path: string, text: string])[] {
  const crds = customResourceDefinitions();
  const valuesOf = (name: ChartName, schema: ValuesSchema) => {
    const text = sourceText(`charts/${name}/values.yaml`);
    return [name, chartValues(text, parse(text), schema)] as const;
  };
  const charts = [valuesOf('karpenter', valuesSchema()), valuesOf('karpenter-crd', {})];
  return [
    ...charts.flatMap(([name, values]) => [
      [`charts/${name}/Chart.yaml`, chartFile(name, product(), crds)] as const,
      [`charts/${name}/README.md`, chartReadme(name, product(), values)] as const,
    ]),
    [join(FOLDERS.reference, 'values.md'), valuesPage(charts)],
  ];
}

type KnownValues = { readonly [name: string]: KnownValues | true };

/** Names of values by their place; `true` stands for a value in which any names are allowed. */
const namesIn = ({ properties }: ValuesSchema): KnownValues | true =>
  properties === undefined
    ? true
    : Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, namesIn(schema)]));

const valuesSchema = (): ValuesSchema => JSON.parse(sourceText('charts/karpenter/values.schema.json')) as ValuesSchema;

/** Templates cannot read the schema of their chart. */
function knownValuesTemplate(): string {
  const schema = valuesSchema();
  return `{{/* Values that the chart knows. Written by \`npm run generate\` from values.schema.json. */}}
{{- define "karpenter.knownValues" -}}
${stringify(namesIn(schema))}{{- end }}
`;
}

type ValueNames = { readonly [name: string]: ValueNames | readonly (string | boolean)[] | true };

/** The same with the texts that a value may be, where only some can. */
const valuesIn = ({ properties, enum: allowed }: ValuesSchema): ValueNames | readonly (string | boolean)[] | true =>
  properties === undefined
    ? (allowed?.filter((text): text is string | boolean => text !== null) ?? true)
    : Object.fromEntries(Object.entries(properties).map(([name, schema]) => [name, valuesIn(schema)]));

/** A module that holds a value as JSON, which the formatter of sources leaves as it is. */
const jsonModule = (description: string, name: string, value: unknown): string => `/** ${description} */
export const ${name} = \`
${JSON.stringify(value, null, 2).replace(/[\\`]|\$\{/g, (mark) => `\\${mark}`)}
\`;
`;

const knownValuesModule = (): string =>
  jsonModule(
    'Values that the chart knows, as JSON. Written by `npm run generate` from values.schema.json.',
    'KNOWN_VALUES',
    valuesIn(valuesSchema()),
  );

/** The command line has no template beside it when it is installed as a package. */
function policiesModule(): string {
  return jsonModule(
    "The controller's policies by name, as JSON. Written by `npm run generate` from examples/aws/cloudformation.yaml.",
    'POLICIES',
    Object.fromEntries(managedPolicies(parseTemplate(sourceText('examples/aws/cloudformation.yaml')))),
  );
}

/** A page for each verb, one that lists them, and a schema for each form that they print. */
function commandLineFiles(): readonly (readonly [path: string, text: string])[] {
  const groups = Object.entries(QUESTIONS).map(([key, question]) => ({
    question,
    verbs: Object.entries(VERBS)
      .filter(([, verb]) => verb.question === key)
      .map(([name, { summary }]) => [name, summary] as const),
  }));
  return [
    [join(FOLDERS.cli, 'README.md'), indexPage(groups)],
    ...COMMAND_LINE.commands.map(
      (verb) => [join(FOLDERS.cli, `${verb.path.at(-1)}.md`), verbPage(verb, OUTPUTS)] as const,
    ),
    ...OUTPUTS.map((output) => [join(FOLDERS.output, `${output.name}.json`), schemaText(output)] as const),
  ];
}

/** Kinds of the custom resources by the version that is stored. */
function kindsByVersion(): ReadonlyMap<string, readonly string[]> {
  const kinds = customResourceDefinitions().map(({ spec }) => [spec.versions[0]?.name ?? '', spec.names.kind] as const);
  const groups = Map.groupBy(kinds, ([version]) => version);
  return new Map([...groups].map(([version, members]) => [version, members.map(([, kind]) => kind)]));
}

/** Every generated file, by its path from the root of the repository. */
export function generatedFiles(): ReadonlyMap<string, string> {
  const files = new Map<string, string>();
  customResourceDefinitions().forEach((crd, index) => {
    const { group, names, versions } = crd.spec;
    const file = `${group}_${names.plural}.yaml`;
    files.set(join(FOLDERS.crds, file), crdYaml(crd));
    const [declaration, version] = [DECLARATIONS[index], versions[0]];
    // helm installs all files of this folder
    if (declaration?.chartValue === undefined) files.set(join(FOLDERS.chart, file), crdYaml(crd));
    files.set(join(FOLDERS.crdChart, file), crdTemplate(crd, declaration?.chartValue));
    if (declaration && version) {
      const page = referencePage(declaration, version.schema.openAPIV3Schema);
      files.set(join(FOLDERS.reference, `${names.singular}.md`), page);
    }
  });
  files.set(join(FOLDERS.reference, 'metrics.md'), metricsPage());
  files.set(join(FOLDERS.reference, 'events.md'), eventsPage());
  files.set(join(FOLDERS.reference, 'settings.md'), settingsPage());
  files.set(join(FOLDERS.reference, 'features.md'), featuresPage(kindsByVersion()));
  files.set(join(FOLDERS.reference, 'price-book.json'), priceBookSchemaText());
  for (const [path, text] of commandLineFiles()) files.set(path, text);
  files.set('charts/karpenter/templates/_known-values.tpl', knownValuesTemplate());
  files.set('src/cli/convert/chart-values.ts', knownValuesModule());
  files.set('src/cli/convert/iam/policies-text.ts', policiesModule());
  for (const [name, dashboard] of Object.entries(DASHBOARDS))
    files.set(join(FOLDERS.dashboards, `${name}.json`), grafanaJson(dashboard, surroundings(product().repository)));
  files.set('src/lib/version.ts', versionModule());
  for (const [path, text] of chartFiles()) files.set(path, text);
  return files;
}

/** Paths of generated files that are missing, differ, or should not be there. */
export function staleFiles(root = ROOT): string[] {
  const files = generatedFiles();
  const differing = [...files].filter(([path, text]) => contentOf(join(root, path)) !== text).map(([path]) => path);
  return [...differing, ...leftovers(root, files)].sort();
}

function leftovers(root: string, files: ReadonlyMap<string, string>): string[] {
  return Object.values(FOLDERS).flatMap((folder) =>
    entriesOf(join(root, folder))
      .map((name) => join(folder, name))
      .filter((path) => !files.has(path)),
  );
}

function entriesOf(folder: string): string[] {
  try {
    return readdirSync(folder, { withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map(({ name }) => name);
  } catch {
    return [];
  }
}

/** The page is not part of `generatedFiles`, because its scene takes seconds. */
const PAGE = 'docs/questions.md';
const pageText = async (): Promise<string> => (await import('./scripts/questions/page.ts')).questionsPage();

function contentOf(path: string): string | undefined {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return undefined;
  }
}

async function write(): Promise<void> {
  const files = new Map([...generatedFiles(), [PAGE, await pageText()]]);
  for (const path of leftovers(ROOT, files)) rmSync(join(ROOT, path));
  for (const [path, text] of files) {
    mkdirSync(dirname(join(ROOT, path)), { recursive: true });
    writeFileSync(join(ROOT, path), text);
  }
  console.log(`Wrote ${files.size} files`);
}

async function check(): Promise<void> {
  const isPageCurrent = contentOf(join(ROOT, PAGE)) === (await pageText());
  const stale = [...staleFiles(), ...(isPageCurrent ? [] : [PAGE])];
  if (stale.length === 0) return;
  console.error(`Not current, run \`npm run generate\`:\n${stale.map((path) => `  ${path}`).join('\n')}`);
  process.exitCode = 1;
}

if (process.argv[1] === fileURLToPath(import.meta.url)) {
  await (process.argv.includes('--check') ? check() : write());
}
