/** Finds the objects of files, including items of Lists, and replaces, removes and adds objects. */
import { isMap, isSeq, type Node, type YAMLMap, type YAMLSeq } from 'yaml';
import { newDocument, type SourceDocument, type SourceFile } from './documents.ts';
import { entriesOf, keyOf, nodeOf, plain, resolveAlias } from './nodes.ts';

export interface FoundObject {
  readonly file: SourceFile;
  readonly source: SourceDocument;
  /** Place in messages: `pools.yaml, document 2, Provisioner default`. */
  readonly where: string;
  readonly apiVersion: string;
  readonly kind: string;
  /** Name of this object. Empty for a patch without a name. */
  readonly name: string;
  /** Current map in the document. */
  map: YAMLMap;
  /** List that contains this object. */
  readonly list?: FoundList;
}

interface FoundList {
  readonly map: YAMLMap;
  readonly items: YAMLSeq;
  readonly kind: string;
}

export function objectsIn(file: SourceFile): readonly FoundObject[] {
  return file.documents.flatMap((source) => {
    const { contents } = source.document;
    return isMap(contents) ? findObjectsIn(contents, { file, source, where: source.where }) : [];
  });
}

type Place = Pick<FoundObject, 'file' | 'source' | 'where' | 'list'>;

function findObjectsIn(map: YAMLMap, place: Place): readonly FoundObject[] {
  const { document } = place.source;
  const field = (of: YAMLMap, key: string): unknown =>
    resolveAlias(entriesOf(of, document).find((pair) => keyOf(pair) === key)?.value, document);
  const text = (of: unknown, key: string): string => {
    const value = isMap(of) ? plain(field(of, key)) : undefined;
    return typeof value === 'string' ? value : '';
  };
  const [apiVersion, kind] = [text(map, 'apiVersion'), text(map, 'kind')];
  const items = field(map, 'items');
  if (kind.endsWith('List') && isSeq(items)) {
    const list: FoundList = { map, items, kind };
    return items.items.flatMap((item, index) => {
      const one = resolveAlias(item, document);
      return isMap(one) ? findObjectsIn(one, { ...place, list, where: `${place.where}, items[${index}]` }) : [];
    });
  }
  if (kind === '') return [];
  const metadata = field(map, 'metadata');
  const [name, namespace] = [text(metadata, 'name'), text(metadata, 'namespace')];
  const shown = [kind, `${namespace === '' ? '' : `${namespace}/`}${name}`].filter((part) => part !== '').join(' ');
  return [{ ...place, where: `${place.where}, ${shown}`, apiVersion, kind, name, map }];
}

/** Replaces an object in its document. */
export function replace(found: FoundObject, map: YAMLMap): void {
  const { source, list } = found;
  if (list === undefined) source.document.contents = map as unknown as typeof source.document.contents;
  else {
    const index = positionIn(list, found);
    list.items.items[index] = map;
  }
  found.map = map;
  source.isChanged = true;
}

/** Removes an object from the output and writes a comment with the reason. */
export function leaveOut(found: FoundObject, reason: string): void {
  const { source, list } = found;
  if (list === undefined) source.replacement = reason;
  else {
    list.items.items.splice(positionIn(list, found), 1);
    list.items.commentBefore = [list.items.commentBefore, ` ${reason}`].filter(Boolean).join('\n');
    source.isChanged = true;
  }
}

/**
 * Adds an object after another object.
 *
 * @returns the added object, in the same file
 */
export function addAfter(found: FoundObject, map: YAMLMap, name: string): FoundObject {
  const { source, list } = found;
  if (list === undefined) source.added.push(newDocument(map));
  else {
    list.items.items.splice(positionIn(list, found) + 1, 0, map);
    source.isChanged = true;
  }
  const kind = String(plain(map.get('kind', true)));
  const apiVersion = String(plain(map.get('apiVersion', true)));
  const where = `${source.where}, ${kind} ${name}`;
  return { ...found, map, name, kind, apiVersion, where };
}

const positionIn = ({ items }: FoundList, { map, source }: FoundObject): number =>
  items.items.findIndex((item) => resolveAlias(item, source.document) === map);

/** Updates the kind of a typed List after a conversion. Uses `List` if its items have different kinds. */
export function retypeList({ map, items }: FoundList): void {
  const types = new Set(
    items.items.map((item) =>
      isMap(item) ? `${plain(item.get('apiVersion', true))} ${plain(item.get('kind', true))}` : '',
    ),
  );
  const [only = ''] = types;
  const [apiVersion = '', kind = ''] = only.split(' ');
  const listKind = types.size === 1 && kind !== '' ? `${kind}List` : 'List';
  const set = (key: string, value: string): void => {
    const pair = map.items.find((one) => keyOf(one) === key);
    if (pair !== undefined && plain(pair.value) !== value) pair.value = nodeOf(value) as Node;
  };
  set('kind', listKind);
  set('apiVersion', listKind === 'List' ? 'v1' : apiVersion);
}
