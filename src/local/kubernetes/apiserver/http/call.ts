/** One request in progress. */
import type { IncomingMessage, ServerResponse } from 'node:http';
import type { Core } from '../core.ts';
import type { Json } from '../json.ts';
import type { StatusError } from '../status.ts';
import { encode, type Wanted } from './media.ts';

export interface ApiCall {
  readonly core: Core;
  readonly method: string;
  readonly path: string;
  readonly query: URLSearchParams;
  readonly request: IncomingMessage;
  readonly response: ServerResponse;
  readonly wanted: Wanted;
  /** The whole body. */
  readonly body: Buffer;
}

const BODY_LIMIT = 64 * 1024 * 1024;

/** @throws if the client disconnects or sends more than 64 MiB */
export async function bodyOf(request: IncomingMessage): Promise<Buffer> {
  const chunks: Buffer[] = [];
  let size = 0;
  for await (const chunk of request as AsyncIterable<Buffer>) {
    size += chunk.length;
    if (size > BODY_LIMIT) throw new RangeError('request body is larger than 64 MiB');
    chunks.push(chunk);
  }
  return Buffer.concat(chunks);
}

export function sendText(call: ApiCall, text: string, contentType: string, code = 200): undefined {
  const { response } = call;
  if (response.destroyed || response.writableEnded) return;
  response.writeHead(code, { 'content-type': contentType, 'content-length': Buffer.byteLength(text) });
  response.end(call.method === 'HEAD' ? undefined : text);
}

/** Sends serialized JSON. */
export const sendJson = (call: ApiCall, json: string, code = 200): undefined => {
  if (call.wanted.yaml) sendText(call, encode(JSON.parse(json) as Json, call.wanted), 'application/yaml', code);
  else sendText(call, json, 'application/json', code);
};

export const send = (call: ApiCall, value: Json, code = 200): undefined => sendJson(call, JSON.stringify(value), code);

export function sendError(response: ServerResponse, error: StatusError): undefined {
  if (response.destroyed || response.writableEnded) return;
  const text = JSON.stringify(error);
  const retry = error.details?.retryAfterSeconds;
  response.writeHead(error.code, {
    'content-type': 'application/json',
    'content-length': Buffer.byteLength(text),
    ...(retry !== undefined && { 'retry-after': String(retry) }),
  });
  response.end(text);
}

/** Adds warnings to the headers of the response. Clients show them to their users. */
export const warn = ({ response }: ApiCall, warnings: readonly string[]): undefined => {
  for (const text of warnings) response.appendHeader('warning', `299 - ${JSON.stringify(text)}`);
};

/** Runs a function and adds the warnings that it collects, even if it throws. */
export function collectWarnings<T>(call: ApiCall, warnings: readonly string[], act: () => T): T {
  try {
    return act();
  } finally {
    warn(call, warnings);
  }
}
