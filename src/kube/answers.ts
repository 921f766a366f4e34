/**
 * What the API server's successes must look like. Anything else is a failure: a proxy's page, or half an answer, says
 * nothing about what exists. No error says what was in the answer, which may hold secrets.
 */

import { apiVersionOf, type Kind } from '../api/kinds.ts';
import type { KubeList, KubeObject } from '../api/kubernetes.ts';
import { messageOf } from '../lib/error-message.ts';
import { parseJson } from '../lib/parse-json.ts';
import { watchError } from './status.ts';
import { isEarlier } from './versions.ts';

/** An answer with a status of success that is none of the API server's. */
export class UnreadableAnswer extends Error {
  /** Method and path, where an answer belongs to one. */
  request?: string;

  constructor(message: string) {
    super(message);
    this.name = 'UnreadableAnswer';
  }
}

type Json = Readonly<Record<string, unknown>>;

const isMap = (value: unknown): value is Json => typeof value === 'object' && value !== null && !Array.isArray(value);
const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const nameOf = (value: unknown): unknown => (isMap(value) && isMap(value.metadata) ? value.metadata.name : undefined);

/** @throws UnreadableAnswer when the body is no JSON */
export function jsonIn(body: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    throw new UnreadableAnswer(`the API server's answer cannot be read: ${messageOf(error)}`);
  }
}

/** @throws UnreadableAnswer when the answer is no object with a name */
export function objectIn<T extends KubeObject>(kind: Kind<T>, answer: unknown): T {
  if (isText(nameOf(answer))) return answer as T;
  throw new UnreadableAnswer(`the API server answered what is no ${kind.kind}: it has no name`);
}

/** For requests that are answered with a Status or with an object. @throws UnreadableAnswer when it is neither */
export function acknowledgementIn(answer: unknown): void {
  const isStatus = isMap(answer) && answer.kind === 'Status' && answer.status !== 'Failure';
  if (!isStatus && !isText(nameOf(answer)))
    throw new UnreadableAnswer('the API server answered what is neither a Status nor an object');
}

/**
 * One page. What a list leaves out counts as gone, so that one with an item that cannot be identified, or one
 * that does not say of which moment it is, is no list.
 * @throws UnreadableAnswer
 */
export function listIn<T extends KubeObject>(kind: Kind<T>, answer: unknown): KubeList<T> {
  const fault = faultOfList(answer);
  if (fault !== undefined)
    throw new UnreadableAnswer(`the API server answered what is no list of ${kind.plural}: ${fault}`);
  const page = answer as KubeList<T>;
  const apiVersion = apiVersionOf(kind);
  // the server leaves both out of the items of built-in kinds
  const items = page.items.map((item) => (item.kind === undefined ? { ...item, apiVersion, kind: kind.kind } : item));
  return { ...page, items };
}

function faultOfList(answer: unknown): string | undefined {
  if (!isMap(answer) || !Array.isArray(answer.items)) return 'it has no items';
  if (!isMap(answer.metadata) || !isText(answer.metadata.resourceVersion)) return 'it has no resourceVersion';
  const { resourceVersion } = answer.metadata;
  for (const [at, item] of answer.items.entries()) {
    if (!isText(nameOf(item))) return `item ${at} has no name`;
    // a watch from there would bring back what has been deleted since
    if (isEarlier(resourceVersion, item.metadata.resourceVersion))
      return `item ${at} is of a later version than the list`;
  }
  return undefined;
}

/** @throws UnreadableAnswer when the line is no event of a watch; ApiError that an ERROR event carries */
export function eventIn<T extends KubeObject>(
  kind: Kind<T>,
  line: string,
): { readonly type: string; readonly object: T } {
  const event = jsonIn(line);
  if (isMap(event) && event.type === 'ERROR') throw watchError(event.object);
  const fault = faultOfEvent(event);
  if (fault === undefined) return event as { type: string; object: T };
  throw new UnreadableAnswer(`the API server sent an event of ${kind.plural} that cannot be read: ${fault}`);
}

function faultOfEvent(event: unknown): string | undefined {
  if (!isMap(event) || !isMap(event.object) || !isMap(event.object.metadata)) return 'it has no object with metadata';
  if (!isText(event.object.metadata.resourceVersion)) return 'its object has no resourceVersion';
  if (event.type === 'BOOKMARK') return undefined;
  const isKnown = ['ADDED', 'MODIFIED', 'DELETED'].includes(String(event.type));
  return isKnown && isText(event.object.metadata.name) ? undefined : 'its type is unknown, or its object has no name';
}
