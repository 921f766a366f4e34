/** Types of fields, for merging, pruning and documents. Built-in and custom resources use the same representation. */
import { isRecord, type Json, list, record, text } from '../json.ts';

export interface ResourceShape {
  readonly type:
    | 'object'
    | 'map'
    | 'list'
    | 'string'
    | 'integer'
    | 'number'
    | 'boolean'
    | 'quantity'
    | 'intOrString'
    | 'any';
  /** Fields of an object. */
  readonly fields?: ReadonlyMap<string, ResourceShape>;
  /** Items of a list or a map. */
  readonly items?: ResourceShape;
  /** Fields that identify a list item in server-side apply. */
  readonly keys?: readonly string[];
  /** Field that identifies a list item in a strategic merge patch. */
  readonly mergeKey?: string;
  /** True for a list of distinct scalars that patches merge. */
  readonly set?: boolean;
  /** True if the value is replaced and managed as a whole. */
  readonly atomic?: boolean;
  /** Name of this type in documents. */
  readonly name?: string;
}

export const ANY: ResourceShape = { type: 'any' };

/** Returns the shape of a field, or ANY if it is unknown. */
export function fieldShape(shape: ResourceShape, name: string): ResourceShape {
  if (shape.type === 'map') return shape.items ?? ANY;
  return shape.fields?.get(name) ?? ANY;
}

/** Returns the shape that a CustomResourceDefinition's schema describes. */
export function schemaShape(schema: unknown): ResourceShape {
  const node = record(schema);
  if (node['x-kubernetes-int-or-string'] === true) return { type: 'intOrString' };
  if (node.type === 'array') return listShape(node);
  if (node.type === 'object' || isRecord(node.properties)) return objectShape(node);
  const type = text(node.type);
  if (type === 'string' || type === 'integer' || type === 'number' || type === 'boolean') return { type };
  return ANY;
}

function listShape(node: Json): ResourceShape {
  const items = schemaShape(node.items);
  if (node['x-kubernetes-list-type'] === 'map') {
    return { type: 'list', items, keys: list(node['x-kubernetes-list-map-keys']).map(text) };
  }
  return { type: 'list', items, ...(node['x-kubernetes-list-type'] === 'set' && { set: true }) };
}

function objectShape(node: Json): ResourceShape {
  const atomic = node['x-kubernetes-map-type'] === 'atomic' ? { atomic: true } : {};
  if (isRecord(node.properties)) {
    const fields = Object.entries(node.properties).map(([name, child]) => [name, schemaShape(child)] as const);
    return { type: 'object', fields: new Map(fields), ...atomic };
  }
  if (isRecord(node.additionalProperties))
    return { type: 'map', items: schemaShape(node.additionalProperties), ...atomic };
  return ANY;
}
