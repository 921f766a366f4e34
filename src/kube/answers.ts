/**
 * Validates successful responses of the API server. Any other response, such as a proxy's page or a truncated response, is a
 * failure and does not show which objects exist. Error messages never contain the response body, because it may hold secrets.
 */
import { apiVersionOf, type Kind, type KubeList, type KubeObject } from '#api/objects';
import { isObject, messageOf, parseJson } from '#lib';
import { watchError } from './status.ts';

/** Thrown if a response has a success status but does not come from the API server. */
export class UnreadableAnswer extends Error {
  /** Method and path, if the response belongs to one request. */
  request?: string;

  constructor(message: string) {
    super(message);
    this.name = 'UnreadableAnswer';
  }
}

const isText = (value: unknown): value is string => typeof value === 'string' && value !== '';
const nameOf = (value: unknown): unknown =>
  isObject(value) && isObject(value.metadata) ? value.metadata.name : undefined;

/** Parses a response body. @throws UnreadableAnswer if the body is not valid JSON */
export function jsonIn(body: string): unknown {
  try {
    return parseJson(body);
  } catch (error) {
    throw new UnreadableAnswer(`the response of the API server cannot be parsed: ${messageOf(error)}`);
  }
}

/** Returns the object of a response. @throws UnreadableAnswer if the response is not an object with a name */
export function objectIn<T extends KubeObject>(kind: Kind<T>, answer: unknown): T {
  if (isText(nameOf(answer))) return answer as T;
  throw new UnreadableAnswer(`the API server returned a ${kind.kind} without metadata.name`);
}

/** Checks the response to a request that returns a Status or an object. @throws UnreadableAnswer if it is neither */
export function acknowledgementIn(answer: unknown): void {
  const isStatus = isObject(answer) && answer.kind === 'Status' && answer.status !== 'Failure';
  if (!isStatus && !isText(nameOf(answer)))
    throw new UnreadableAnswer('the API server returned neither a Status nor an object');
}

/**
 * Returns one page of a list. Objects that are missing from a list count as deleted. The function therefore rejects a list if an
 * item cannot be identified or if the list has no resourceVersion.
 * @throws UnreadableAnswer
 */
export function listIn<T extends KubeObject>(kind: Kind<T>, answer: unknown): KubeList<T> {
  const fault = faultOfList(answer);
  if (fault !== undefined)
    throw new UnreadableAnswer(`the API server returned an invalid list of ${kind.plural}: ${fault}`);
  const page = answer as KubeList<T>;
  const apiVersion = apiVersionOf(kind);
  // the server omits both fields in the items of built-in kinds
  const items = page.items.map((item) => (item.kind === undefined ? { ...item, apiVersion, kind: kind.kind } : item));
  return { ...page, items };
}

function faultOfList(answer: unknown): string | undefined {
  if (!isObject(answer) || !Array.isArray(answer.items)) return 'it has no items';
  if (!isObject(answer.metadata) || !isText(answer.metadata.resourceVersion)) return 'it has no resourceVersion';
  const { resourceVersion } = answer.metadata;
  for (const [at, item] of answer.items.entries()) {
    if (!isText(nameOf(item))) return `item ${at} has no name`;
    // a watch from this version would restore objects that have been deleted since
    if (isEarlier(resourceVersion, item.metadata.resourceVersion))
      return `item ${at} is of a later version than the list`;
  }
  return undefined;
}

/** Parses one line of a watch. @throws UnreadableAnswer if the line is not a watch event; ApiError if it is an ERROR event */
export function eventIn<T extends KubeObject>(
  kind: Kind<T>,
  line: string,
): { readonly type: string; readonly object: T } {
  const event = jsonIn(line);
  if (isObject(event) && event.type === 'ERROR') throw watchError(event.object);
  const fault = faultOfEvent(event);
  if (fault === undefined) return event as { type: string; object: T };
  throw new UnreadableAnswer(`the API server sent an invalid watch event of ${kind.plural}: ${fault}`);
}

function faultOfEvent(event: unknown): string | undefined {
  if (!isObject(event) || !isObject(event.object) || !isObject(event.object.metadata))
    return 'it has no object with metadata';
  if (!isText(event.object.metadata.resourceVersion)) return 'its object has no resourceVersion';
  if (event.type === 'BOOKMARK') return undefined;
  const isKnown = ['ADDED', 'MODIFIED', 'DELETED'].includes(String(event.type));
  return isKnown && isText(event.object.metadata.name) ? undefined : 'its type is unknown, or its object has no name';
}

/** Resource versions of the API server. They are numbers that increase. */
const NUMBER = /^\d{1,40}$/;

/**
 * Returns true if both versions are numbers and the first is smaller. It then belongs to an earlier state of an object or of a
 * kind.
 */
export function isEarlier(version: string | undefined, than: string | undefined): boolean {
  if (version === undefined || than === undefined || !NUMBER.test(version) || !NUMBER.test(than)) return false;
  return BigInt(version) < BigInt(than);
}
