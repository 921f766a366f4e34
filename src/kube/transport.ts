/** One HTTP exchange with the API server. Sends JSON and returns the open response. */
import { type ClientRequest, request as httpRequest, type IncomingMessage } from 'node:http';
import { request as httpsRequest } from 'node:https';
import type { Socket } from 'node:net';
import { defined } from '#lib';
import { type Fence, NotPermitted } from './fence.ts';
import type { Connection } from './kubeconfig.ts';

export interface Exchange {
  readonly method: 'GET' | 'POST' | 'PUT' | 'PATCH' | 'DELETE';
  /** Path and query below the server's base URL. */
  readonly path: string;
  readonly body?: unknown;
  readonly contentType?: string;
  readonly signal?: AbortSignal | undefined;
  /** Checked immediately before a mutating request is sent, and again after a connect. */
  readonly fence?: Fence | undefined;
  /** Maximum time without any sent or received data, in milliseconds. Then the connection is closed. */
  readonly idleMs: number;
  /** True if this exchange keeps its connection for a long time. */
  readonly isWatch?: boolean;
  /** Requests new credentials. */
  readonly renew?: boolean;
}

/** Thrown if the exchange fails before the response is complete. */
export class ConnectionError extends Error {
  /** True if the server cannot have received the request. */
  readonly wasNotSent: boolean;
  /** True if the connection was kept from an earlier request. The server may have closed it because it was idle. */
  wasKept = false;
  /** True if the server was silent for too long. */
  isTimeout = false;
  /** True if the response is longer than the caller accepts. */
  isTooLong = false;
  /** Method and path, if the response belongs to one request. */
  request?: string;

  constructor(message: string, wasNotSent: boolean, options?: ErrorOptions) {
    super(message, options);
    this.name = 'ConnectionError';
    this.wasNotSent = wasNotSent;
  }
}

function tooLong(longest: number): ConnectionError {
  const error = new ConnectionError(`the response of the API server is longer than ${longest} bytes`, false);
  error.isTooLong = true;
  return error;
}

function timeout(message: string): ConnectionError {
  const error = new ConnectionError(message, false);
  error.isTimeout = true;
  return error;
}

const NOT_SENT = new Set(['ECONNREFUSED', 'ENOTFOUND', 'EAI_AGAIN', 'EHOSTUNREACH', 'ENETUNREACH']);

/**
 * Sends a request and returns the open response. @throws ConnectionError, NotPermitted if the fence is closed, or the signal's
 * reason if it aborts
 */
export async function exchange(connection: Connection, userAgent: string, ask: Exchange): Promise<IncomingMessage> {
  const identity = await connection.identity(ask.renew);
  ask.signal?.throwIfAborted();
  const { server } = connection;
  const payload = ask.body === undefined ? undefined : Buffer.from(JSON.stringify(ask.body));
  const send = server.protocol === 'https:' ? httpsRequest : httpRequest;
  ask.fence?.check();

  return new Promise((resolve, reject) => {
    const request = send(
      {
        protocol: server.protocol,
        hostname: server.hostname.replace(/^\[|\]$/g, ''),
        port: server.port,
        path: `${server.pathname.replace(/\/$/, '')}${ask.path}`,
        method: ask.method,
        agent: ask.isWatch ? identity.watchAgent : identity.agent,
        ...defined({ auth: identity.auth }),
        headers: {
          accept: 'application/json',
          'user-agent': userAgent,
          ...identity.headers,
          ...(payload && { 'content-type': ask.contentType ?? 'application/json', 'content-length': payload.length }),
        },
        ...defined({ signal: ask.signal }),
      },
      resolve,
    );
    request.setTimeout(ask.idleMs, () =>
      request.destroy(timeout(`no response from ${server.host} for ${ask.idleMs} ms`)),
    );
    request.on('error', (error: NodeJS.ErrnoException) => {
      if (ask.signal?.aborted) return reject(ask.signal.reason);
      if (error instanceof ConnectionError || error instanceof NotPermitted) return reject(error);
      const wasNotSent = NOT_SENT.has(error.code ?? '');
      const broken = new ConnectionError(`Cannot reach the API server at ${server.host}`, wasNotSent, { cause: error });
      broken.wasKept = request.reusedSocket && error.code === 'ECONNRESET';
      reject(broken);
    });
    whenConnected(request, () => {
      try {
        // a process that was paused during the connect may have lost its lease
        ask.fence?.check();
        request.end(payload);
      } catch (error) {
        request.destroy(error as Error);
      }
    });
  });
}

/** Calls `send` when the request has a socket that is connected, so that the data leaves in the same turn. */
function whenConnected(request: ClientRequest, send: () => void): void {
  request.once('socket', (socket: Socket & { readonly secureConnecting?: boolean }) => {
    if (socket.secureConnecting) socket.once('secureConnect', send);
    else if (socket.connecting) socket.once('connect', send);
    else send();
  });
}

/** Maximum time for a response body, in milliseconds. An API server ends requests other than watches after one minute. */
const BODY_MS = 180_000;
/** Maximum length of a body, in bytes. A string cannot be much longer. */
const LONGEST_BODY = 512 * 2 ** 20 - 2 ** 10;

/** Returns the whole body as text. @throws ConnectionError if the body breaks off, takes too long, or is too long */
export async function bodyOf(
  response: IncomingMessage,
  { longestMs = BODY_MS, longest = LONGEST_BODY }: { readonly longestMs?: number; readonly longest?: number } = {},
): Promise<string> {
  const chunks: Buffer[] = [];
  let bytes = 0;
  const end = (): unknown =>
    response.destroy(timeout(`the response of the API server did not end within ${longestMs} ms`));
  const timer = setTimeout(end, longestMs);
  timer.unref();
  response.once('close', () => clearTimeout(timer));
  try {
    for await (const chunk of response as AsyncIterable<Buffer>) {
      bytes += chunk.length;
      if (bytes > longest) throw tooLong(longest);
      chunks.push(chunk);
    }
  } catch (error) {
    throw error instanceof ConnectionError
      ? error
      : new ConnectionError('the response of the API server was interrupted', false, { cause: error });
  }
  return Buffer.concat(chunks).toString('utf8');
}

/** Maximum length of a line, in characters. Objects of an API server are far smaller. */
const LONGEST_LINE = 32 * 2 ** 20;

/** Yields the lines of the body as they arrive. Chunks may split lines and characters at any position. */
export async function* responseLines(
  response: IncomingMessage,
  longest = LONGEST_LINE,
): AsyncGenerator<string, void, undefined> {
  response.setEncoding('utf8');
  let parts: string[] = [];
  let partsLength = 0;
  for await (const chunk of response as AsyncIterable<string>) {
    let from = 0;
    for (let end = chunk.indexOf('\n'); end !== -1; end = chunk.indexOf('\n', from)) {
      parts.push(chunk.slice(from, end));
      const line = parts.join('');
      parts = [];
      partsLength = 0;
      from = end + 1;
      if (line.trim() !== '') yield line;
    }
    if (from < chunk.length) parts.push(chunk.slice(from));
    partsLength += chunk.length - from;
    if (partsLength > longest)
      throw new ConnectionError(`the API server sent more than ${longest} characters without a line break`, false);
  }
  const last = parts.join('');
  if (last.trim() !== '') yield last;
}
