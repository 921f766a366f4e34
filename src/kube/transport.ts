/** One HTTP exchange with the API server: sends JSON, answers the open response. */
import { request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Connection } from './kubeconfig.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query below the server's base URL. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** The connection is given up when nothing was sent or received for this long. */
  readonly idleMs: number;
  /** Holds its connection for a long time. */
  readonly isWatch?: boolean;
  /** Ask for fresh credentials. */
  readonly renew?: boolean;
}

/** The exchange broke before there was an answer. */
export class ConnectionError extends Error {
  /** The server cannot have seen the request. */
  readonly wasNotSent: boolean;

  constructor(message: string, wasNotSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionError';
    this.wasNotSent = wasNotSent;
  }
}

const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/** @throws ConnectionError, or the signal's reason when it aborts */
export async function exchange(connection: Connection, userAgent: string, ask: Exchange): Promise<IncomingMessage> {
  const identity = await connection.identity(ask.renew);
  ask.signal?.throwIfAborted();
  const { server } = connection;
  const payload = ask.body === undefined ? undefined : Buffer.from(JSON.stringify(ask.body));
  const send = server.protocol === 'https:' ? httpsRequest : httpRequest;

  return new Promise((resolve, reject) => {
    const request = send(
      {
        protocol: server.protocol,
        hostname: server.hostname.replace(/^\[|\]$/g, ''),
        port: server.port,
        path: `${server.pathname.replace(/\/$/, '')}${ask.path}`,
        method: ask.method,
        agent: ask.isWatch ? identity.watchAgent : identity.agent,
        ...(identity.auth === undefined ? {} : { auth: identity.auth }),
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...identity.headers,
          ...(payload && { 'content-type': ask.contentType ?? 'application/json', 'content-length': payload.length }),
        },
        ...(ask.signal && { signal: ask.signal }),
      },
      resolve,
    );
    request.setTimeout(ask.idleMs, () =>
      request.destroy(new ConnectionError(`no answer from ${server.host} for ${ask.idleMs} ms`, false)),
    );
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (ask.signal?.aborted) return reject(ask.signal.reason);
      if (error instanceof ConnectionError) return reject(error);
      const wasNotSent = NOT_SENT.has(error.code ?? '');
      reject(new ConnectionError(`Cannot reach the API server at ${server.host}`, wasNotSent, { cause: error }));
    });
    request.end(payload);
  });
}

/** The whole body as text. @throws ConnectionError when it breaks off */
export async function bodyOf(response: IncomingMessage): Promise<string> {
  const chunks: Buffer[] = [];
  try {
    for await (const chunk of response) chunks.push(chunk as Buffer);
  } catch (error) {
    throw error instanceof ConnectionError
      ? error
      : new ConnectionError('the answer of the API server broke off', false, { cause: error });
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** The body's lines as they come in; characters and lines may be split over any number of chunks. */
export async function* linesOf(response: IncomingMessage): AsyncGenerator<string, void, undefined> {
  response.setEncoding('utf8');
  let parts: string[] = [];
  for await (const chunk of response as AsyncIterable<string>) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      parts.push(chunk.slice(from, end));
      const line = parts.join('');
      parts = [];
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < chunk.length) parts.push(chunk.slice(from));
  }
  const last = parts.join('');
  if (last.trim() !== '') yield last;
}
