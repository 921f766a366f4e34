/**
 * Devices of new nodes that users declare in ConfigMaps of the operator's namespace. A document is valid or skipped as a whole.
 */
import { type Document, parseAllDocuments } from 'yaml';
import type { CounterSet, Device, NodePool, NodeSelectorRequirement } from '#api/objects';
import { combinedTemplates, type DriverTemplate, type RuntimeValues, templatePools } from '#engine/devices';
import {
  compareText,
  type InstanceType,
  LOOSE,
  Requirements,
  requirementsOf,
  templateRequirements,
} from '#engine/model';
import { Field, FieldFault, messageOf, quoted, remembering, type Wording } from '#lib';

/** Label of ConfigMaps with declared devices. */
export const DEVICE_TEMPLATES_LABEL = 'karpenter.sh/device-templates';
const MOST_DOCUMENTS = 256;
const MOST_CHARACTERS = 2 ** 20;
const MOST_WEIGHT = 10_000;
const OPERATORS = ['In', 'NotIn', 'Exists', 'DoesNotExist', 'Gt', 'Lt', 'Gte', 'Lte'] as const;

/** ConfigMap with its texts. */
export interface TemplateConfigMap {
  readonly metadata: { readonly name: string };
  readonly data?: Readonly<Record<string, string>>;
}

export interface DeclaredDevices {
  readonly weight: number;
  readonly requirements: Requirements;
  readonly template: DriverTemplate;
}

/** Document that cannot be used. */
export interface InvalidTemplate {
  readonly configMap: string;
  /** Key, number of the document from 1, path of the field, and cause. */
  readonly text: string;
}

export interface Declarations {
  /** Highest precedence first. */
  readonly devices: readonly DeclaredDevices[];
  readonly invalid: readonly InvalidTemplate[];
}

interface Source {
  readonly configMap: string;
  readonly key: string;
  readonly text: string;
}

/** Reads the documents of ConfigMaps. */
export function readDeclarations(configMaps: readonly TemplateConfigMap[]): Declarations {
  const reader = new Reader();
  for (const source of configMaps.flatMap(sourcesOf)) reader.read(source);
  return {
    devices: reader.devices.sort((a, b) => b.weight - a.weight || compareText(b.order, a.order)),
    invalid: reader.invalid,
  };
}

class Reader {
  readonly devices: (DeclaredDevices & { readonly order: string })[] = [];
  readonly invalid: InvalidTemplate[] = [];
  #characters = 0;
  #documents = 0;

  read(source: Source): void {
    const { key, text } = source;
    this.#characters += text.length;
    if (!key.endsWith('.yaml')) this.#refuse(source, 1, 'the key must end in .yaml');
    else if (this.#characters > MOST_CHARACTERS) this.#refuse(source, 1, 'the documents have more than 1 MiB in all');
    else
      for (const [at, document] of parseAllDocuments(text, { uniqueKeys: true, logLevel: 'silent' }).entries())
        this.#readDocument(source, at + 1, document);
  }

  #readDocument(source: Source, number: number, document: Pick<Document, 'errors' | 'toJS'>): void {
    const { configMap, key } = source;
    this.#documents++;
    try {
      if (this.#documents > MOST_DOCUMENTS) throw new RangeError(`there are more than ${MOST_DOCUMENTS} documents`);
      const [error] = document.errors;
      if (error !== undefined) throw error;
      const read = declaration(document.toJS({ maxAliasCount: 0 }), `${configMap}/${key}#${number}`);
      this.devices.push({ ...read, order: JSON.stringify([configMap, key]) });
    } catch (error) {
      this.#refuse(source, number, messageOf(error).split('\n')[0] ?? '');
    }
  }

  #refuse({ configMap, key }: Source, number: number, cause: string): void {
    this.invalid.push({ configMap, text: `${key}, document ${number}: ${cause}` });
  }
}

const sourcesOf = ({ metadata, data = {} }: TemplateConfigMap): readonly Source[] =>
  Object.entries(data).map(([key, text]) => ({ configMap: metadata.name, key, text }));

const WORDING: Wording = {
  text: 'a string',
  object: 'an object',
  problem: (expected, value) => `must be ${expected}${value === undefined ? '' : `, not ${quoted(String(value))}`}`,
  error: (path, problem) => new FieldFault(path, problem),
};

function declaration(value: unknown, source: string): DeclaredDevices {
  const field = new Field(value, WORDING).object();
  const driver = field.at('driver').text();
  const pools = field
    .at('pools')
    .required('a list')
    .items()
    .map((pool) => ({
      pool: pool.at('name').text(),
      devices: pool.at('devices').items().map(deviceOf),
      sharedCounters: pool.at('sharedCounters').items().map(counterSetOf),
    }));
  const runtime = field.at('runtime').items().map(runtimeOf);
  const template: DriverTemplate = { driver, source, pools, runtime };
  const fault = templatePools(combinedTemplates([template])).find(({ defect }) => defect !== undefined)?.defect;
  if (fault !== undefined) throw new FieldFault('pools', fault.text);
  const requirements = field.at('requirements').items().map(requirementOf);
  return { weight: weightOf(field.at('weight')), requirements: Requirements.fromRequirements(requirements), template };
}

function weightOf(field: Field): number {
  const weight = field.given?.count() ?? 0;
  field.expect(weight <= MOST_WEIGHT && (weight > 0 || field.isMissing), `an integer from 1 to ${MOST_WEIGHT}`);
  return weight;
}

const counterSetOf = (field: Field): CounterSet => {
  field.at('name').text();
  return field.value as CounterSet;
};

const PLACES = ['nodeName', 'nodeSelector', 'allNodes'] as const;

function deviceOf(field: Field): Device {
  field.at('name').text();
  for (const place of PLACES)
    if (!field.at(place).isMissing) field.at(place).fail('is not allowed, because the device is part of its node');
  return field.value as Device;
}

function requirementOf(field: Field): NodeSelectorRequirement {
  const operator = field.at('operator').oneOf(...OPERATORS) as NodeSelectorRequirement['operator'];
  return {
    key: field.at('key').text(),
    operator,
    values: field
      .at('values')
      .items()
      .map((each) => each.text()),
  };
}

function runtimeOf(field: Field): RuntimeValues {
  const attribute = field.at('attribute').text();
  if (field.at('unique').given?.flag()) return { attribute, isUnique: true };
  const groups = new Map<string, string>();
  for (const [at, group] of field.at('same').required('a list of lists').items().entries())
    for (const device of group.items()) groups.set(device.text(), groups.get(device.text()) ?? `${at}`);
  return { attribute, groups, areDisjoint: field.at('disjoint').given?.flag() ?? false };
}

type DriverTemplates = ReadonlyMap<string, DriverTemplate>;

/** Returns the declared templates of an instance type by driver. */
export const declaredFor = (declarations: Declarations, nodePool: NodePool, type: InstanceType): DriverTemplates =>
  matcherOf(declarations)(nodePool)(type);

/** Cached by object, because each solve compares all instance types with all documents. */
const matcherOf = remembering(({ devices }: Declarations) =>
  remembering((nodePool: NodePool) =>
    remembering((type: InstanceType): DriverTemplates => {
      const found = new Map<string, DriverTemplate>();
      if (devices.length === 0) return found;
      const labels = requirementsOf(type).intersect(templateRequirements(nodePool));
      for (const { requirements, template } of devices)
        if (!found.has(template.driver) && labels.compatible(requirements, LOOSE)) found.set(template.driver, template);
      return found;
    }),
  ),
);
