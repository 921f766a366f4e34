/** Strategic merge patch: merges lists by the merge key of their type, and supports `$patch` and related directives. */
import { own, put } from '#lib';
import { equal, isRecord, type Json, list, records } from '../json.ts';
import { ANY, fieldShape, type ResourceShape } from '../resources/shape.ts';
import { badRequest } from '../status.ts';

const DIRECTIVE = '$patch';
const DELETE_ITEMS = '$deleteFromPrimitiveList/';
const ORDER = '$setElementOrder/';
const RETAIN = '$retainKeys';

/**
 * Returns the patched target. Changes neither argument.
 *
 * @throws StatusError 400 for an unknown directive or an item without its merge key
 */
export function strategicPatch(target: unknown, patch: unknown, shape: ResourceShape): unknown {
  if (!isRecord(patch)) return patch;
  return mergeObject(isRecord(target) ? target : {}, patch, shape);
}

function mergeObject(target: Json, patch: Json, shape: ResourceShape): Json {
  const directive = patch[DIRECTIVE];
  if (directive === 'replace') return withoutDirectives(patch);
  if (directive === 'delete') return {};
  if (directive !== undefined && directive !== 'merge') {
    throw badRequest(`invalid patch: unknown directive $patch: ${JSON.stringify(directive)}`);
  }
  const retained = patch[RETAIN];
  const out = Array.isArray(retained) ? pickFields(target, retained) : { ...target };
  for (const [name, value] of Object.entries(patch)) {
    if (name.startsWith('$')) continue;
    if (value === null) delete out[name];
    else put(out, name, mergeField(own(out, name), value, fieldShape(shape, name)));
  }
  deleteItems(out, patch);
  orderItems(out, patch, shape, target);
  return out;
}

const pickFields = (target: Json, names: readonly unknown[]): Json =>
  Object.fromEntries(Object.entries(target).filter(([name]) => names.includes(name)));

function mergeField(target: unknown, value: unknown, shape: ResourceShape): unknown {
  if (isRecord(value)) return mergeObject(isRecord(target) ? target : {}, value, shape);
  if (!Array.isArray(value)) return value;
  if (shape.mergeKey !== undefined) return mergeList(list(target), value, shape.mergeKey, shape.items ?? ANY);
  if (shape.set) {
    const added = value.filter((item) => !list(target).some((kept) => equal(kept, item)));
    return mergeOrders([...list(target), ...added], value, list(target));
  }
  return value.map(removeDirectives);
}

function mergeList(
  target: readonly unknown[],
  patch: readonly unknown[],
  key: string,
  items: ResourceShape,
): unknown[] {
  if (patch.some((item) => isRecord(item) && item[DIRECTIVE] === 'replace')) {
    return patch.filter((item) => !(isRecord(item) && item[DIRECTIVE] === 'replace')).map(removeDirectives);
  }
  const out: unknown[] = [...target];
  for (const item of patch) {
    if (!isRecord(item))
      throw badRequest('invalid patch: a list with a merge key contains an item that is not an object');
    const id = item[key];
    if (id === undefined) throw badRequest(`map: ${JSON.stringify(item)} does not contain declared merge key: ${key}`);
    const index = out.findIndex((kept) => isRecord(kept) && kept[key] === id);
    if (item[DIRECTIVE] === 'delete') {
      if (index >= 0) out.splice(index, 1);
    } else if (index >= 0) out[index] = mergeObject(out[index] as Json, item, items);
    else out.push(removeDirectives(item));
  }
  const changed = records(patch).filter((item) => item[DIRECTIVE] !== 'delete');
  return mergeOrders(out, changed, target, key);
}

const withoutDirectives = (value: Json): Json =>
  Object.fromEntries(
    Object.entries(value)
      .filter(([name, field]) => !name.startsWith('$') && field !== null)
      .map(([name, field]) => [name, removeDirectives(field)]),
  );

/** Returns new content without directives and nulls, which only affect existing content. */
function removeDirectives(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(removeDirectives);
  return isRecord(value) ? withoutDirectives(value) : value;
}

function deleteItems(out: Json, patch: Json): void {
  for (const [name, values] of Object.entries(patch)) {
    if (!name.startsWith(DELETE_ITEMS)) continue;
    const field = name.slice(DELETE_ITEMS.length);
    const kept = list(out[field]).filter((item) => !list(values).some((value) => equal(value, item)));
    if (Array.isArray(out[field])) out[field] = kept;
  }
}

/** Sorts the merged lists for which the patch defines an order. */
function orderItems(out: Json, patch: Json, shape: ResourceShape, target: Json): void {
  for (const [name, wanted] of Object.entries(patch)) {
    if (!name.startsWith(ORDER)) continue;
    const field = name.slice(ORDER.length);
    const items = out[field];
    if (!Array.isArray(items)) continue;
    out[field] = mergeOrders(items, list(wanted), list(target[field]), fieldShape(shape, field).mergeKey);
  }
}

/**
 * Returns the merged list in Kubernetes' order. Items of the patch are in the order of the patch, remaining items in
 * their previous order. When both orders are combined, a remaining item comes first only if it was before the other
 * item previously.
 */
function mergeOrders(
  merged: readonly unknown[],
  patch: readonly unknown[],
  before: readonly unknown[],
  key?: string,
): unknown[] {
  const idOf = (item: unknown): unknown => (key !== undefined && isRecord(item) ? item[key] : item);
  const placeIn = (order: readonly unknown[], item: unknown): number =>
    order.findIndex((one) => equal(idOf(one), idOf(item)));
  const mentioned = merged.filter((item) => placeIn(patch, item) >= 0);
  const rest = merged.filter((item) => placeIn(patch, item) < 0);
  mentioned.sort((a, b) => placeIn(patch, a) - placeIn(patch, b));
  const out: unknown[] = [];
  while (rest.length > 0 && mentioned.length > 0) {
    const [kept, named] = [placeIn(before, rest[0]), placeIn(before, mentioned[0])];
    out.push((kept >= 0 && named >= 0 && kept < named ? rest : mentioned).shift());
  }
  return [...out, ...rest, ...mentioned];
}
