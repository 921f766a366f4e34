/** Types and functions of recorded requests to an API server. */
import type { Answer, Request } from '../harness/http.ts';

/** Responses so far by the name of the step. */
export type Answers = ReadonlyMap<string, Answer>;

export interface Step {
  readonly name: string;
  /** Reason that the error text may differ: it contains server internals. */
  readonly wording?: string;
  ask(answers: Answers): Request;
}

export type Json = Readonly<Record<string, unknown>>;

/** Options of a request besides method, path and body. */
type More = Omit<Request, 'method' | 'path' | 'body'>;
type Body = unknown | ((answers: Answers) => unknown);

const step =
  (method: string) =>
  (name: string, path: string | ((answers: Answers) => string), body?: Body, more: More = {}): Step => ({
    name,
    ask: (answers) => ({
      method,
      path: typeof path === 'function' ? path(answers) : path,
      ...(body === undefined ? {} : { body: typeof body === 'function' ? body(answers) : body }),
      ...more,
    }),
  });

export const get = (name: string, path: string | ((answers: Answers) => string), more: More = {}): Step =>
  step('GET')(name, path, undefined, more);
export const post = step('POST');
export const put = step('PUT');
export const del = step('DELETE');

const PATCH_TYPES = {
  json: 'application/json-patch+json',
  merge: 'application/merge-patch+json',
  strategic: 'application/strategic-merge-patch+json',
  apply: 'application/apply-patch+yaml',
};

export const patch = (type: keyof typeof PATCH_TYPES, name: string, path: string, body: Body): Step =>
  step('PATCH')(name, path, body, { contentType: PATCH_TYPES[type] });

export const bodyOf = (answers: Answers, name: string): Json => (answers.get(name)?.body ?? {}) as Json;
export const metadataOf = (answers: Answers, name: string): Json =>
  (bodyOf(answers, name).metadata as Json | undefined) ?? {};

export const TABLE = 'application/json;as=Table;v=v1;g=meta.k8s.io,application/json';
export const METADATA = 'application/json;as=PartialObjectMetadata;v=v1;g=meta.k8s.io';
export const METADATA_LIST = 'application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io';

/** Compares everything except the text of the error. */
export const except = (wording: string, one: Step): Step => ({ ...one, wording });
