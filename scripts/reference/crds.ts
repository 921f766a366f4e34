/** Reference pages of the custom resources, generated from their declarations. */

import type { OpenApiSchema } from '#api/schema';
import { type ResourceDeclaration, valuesOf } from '#api/testing';
import { isObject } from '#lib';
import { code, heading, markdownTable } from './markdown.ts';

/** Returns the page of a kind in Markdown. @param schema schema of the whole object */
export function referencePage(resource: ResourceDeclaration, schema: OpenApiSchema): string {
  const { group, version, kind, shortNames = [], scope, description } = resource;
  const also = shortNames.length > 0 ? `, or the short name ${shortNames.map(code).join(', ')}` : '';
  return `${[
    ...heading(kind, 'the declaration in src/api'),
    description,
    '',
    `\`${group}/${version}\`, ${scope === 'Cluster' ? 'cluster-wide' : 'in a namespace'}; name for kubectl: ${code(resource.plural)}${also}.`,
    '',
    ...section('Spec', 'spec', schema),
    ...section('Status', 'status', schema),
    '## Columns',
    '',
    ...markdownTable(
      ['Column', 'Shows', 'When'],
      resource.columns.map(({ name, jsonPath, priority }) => [
        name,
        code(jsonPath),
        priority ? 'with `-o wide`' : 'always',
      ]),
    ),
  ].join('\n')}\n`;
}

function section(title: string, part: 'spec' | 'status', schema: OpenApiSchema): string[] {
  const root = schema.properties?.[part];
  if (!root) return [];
  const rules = rulesOf(root, part);
  return [
    `## ${title}`,
    '',
    ...markdownTable(['Field', 'Type', 'Meaning'], fieldsOf(root, part)),
    '',
    ...(rules.length > 0 ? ['Rules:', '', ...rules, ''] : []),
  ];
}

function fieldsOf(schema: OpenApiSchema, path: string): string[][] {
  return Object.entries(schema.properties ?? {}).flatMap(([name, field]) => {
    const at = `${path}.${name}`;
    const isRequired = schema.required?.includes(name) === true && field.default === undefined;
    return [[code(at), typeOf(field), meaning(field, isRequired)], ...innerFields(field, at)];
  });
}

/** Returns the rows of nested fields. Omits the fields of conditions, because they are the same in every kind. */
const innerFields = (schema: OpenApiSchema, path: string): string[][] =>
  path === 'status.conditions' ? [] : fieldsOf(schema.items ?? schema, schema.items ? `${path}[]` : path);

function typeOf(schema: OpenApiSchema): string {
  if (schema['x-kubernetes-int-or-string']) return 'quantity';
  if (schema.items) return `list of ${typeOf(schema.items)}`;
  const values = valuesOf(schema);
  if (values) return values.type || values['x-kubernetes-int-or-string'] ? `map to ${typeOf(values)}` : 'object';
  return schema.format === 'date-time' ? 'time' : (schema.type ?? 'any');
}

function meaning(schema: OpenApiSchema, isRequired: boolean): string {
  const element = schema.items ?? valuesOf(schema);
  const facts = [
    ...(isRequired ? ['Required.'] : []),
    ...(schema.default === undefined ? [] : [`Default ${code(JSON.stringify(schema.default))}.`]),
    ...limits(schema),
    ...(element ? limits(element).map((limit) => `Each: ${limit}`) : []),
  ];
  return [schema.description ?? '', ...facts].filter((text) => text !== '').join(' ');
}

function limits(schema: OpenApiSchema): string[] {
  const bounds: readonly (readonly [string, number | undefined])[] = [
    ['Minimum', schema.minimum],
    ['Maximum', schema.maximum],
    ['Minimum length', schema.minLength],
    ['Maximum length', schema['x-kubernetes-list-type'] ? undefined : schema.maxLength],
    ['Minimum number of items', schema.minItems],
    ['Maximum number of items', schema.maxItems],
    ['Maximum number of entries', schema.maxProperties],
  ];
  const unique = schema['x-kubernetes-list-type'] === 'set' ? ['Items are unique.'] : [];
  const values = schema.enum ? [`One of ${schema.enum.map((value) => code(String(value))).join(', ')}.`] : [];
  const pattern = schema.pattern && schema.type === 'string' ? [`Pattern ${code(schema.pattern)}.`] : [];
  return [
    ...values,
    ...bounds.flatMap(([text, bound]) => (bound === undefined ? [] : [`${text} ${bound}.`])),
    ...unique,
    ...pattern,
  ];
}

function rulesOf(schema: OpenApiSchema, path: string): string[] {
  const own = (schema['x-kubernetes-validations'] ?? []).map((rule) => `- ${code(path)}: ${rule.message ?? rule.rule}`);
  const inner = Object.entries(schema.properties ?? {}).flatMap(([name, field]) => rulesOf(field, `${path}.${name}`));
  const element = schema.items ?? valuesOf(schema);
  return [...own, ...inner, ...(isObject(element) ? rulesOf(element, `${path}[]`) : [])];
}
